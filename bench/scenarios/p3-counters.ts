import type { RawEra } from '../../tests/support/raw-state.js';
import { runTurn } from '../../tests/support/run-client.js';
import { type Contestant, type Running, servedAt } from '../harness/contestant.js';
import { type Fleet, type FleetTotals, startFleet } from '../harness/fleet.js';
import { serveIndex } from '../harness/index-document.js';
import { ADMIN, type RunningService, startService } from '../harness/service.js';
import { settled, totalsWhen } from '../harness/settled.js';
import { CALL_A_TOOL } from '../model/answers.js';
import { startModel } from '../model/model.js';

export interface ExactSizes {
  readonly toolsets: number;
  /** How many changes are made, one after the other. */
  readonly changes: number;
  readonly runs: number;
}

/** What was counted at the toolsets in one round. */
export interface Asked {
  /** Lists of the changed toolsets by their changes. */
  readonly listsPerChange: number;
  readonly listsOfOthers: number;
  readonly listsPerRun: number;
  /** Sessions and streams more than before the swaps. */
  readonly moreAfterSwaps: number;
}

/** Sessions and streams that nobody needs any more; less than 0 where needed ones are missing. */
export interface Left {
  readonly afterRestart: number;
  readonly ofRemoved: number;
  /** Connections are counted too. */
  readonly afterStop: number;
}

/** No poll comes due while it is measured. */
const SELDOM_SECONDS = 86_400;

/** Counts what the service asks of its toolsets and what it leaves behind. */
export async function countOurs(era: RawEra, sizes: ExactSizes): Promise<Asked & Left> {
  const fleet = await startFleet({ toolsets: sizes.toolsets, era });
  const index = await serveIndex(fleet.toolsets);
  const model = await startModel();
  let service: RunningService | undefined;
  try {
    service = await startService({ ...fleet, indexUrl: index.url }, { modelUrl: model.baseUrl, pollSeconds: SELDOM_SECONDS });
    const { baseUrl } = service;
    const swapped = await countSwaps(service, { fleet, sizes });
    const listsPerRun = await countRuns({ fleet, runs: sizes.runs }, () => callATool(baseUrl));

    const needed = neededBy(era, sizes.toolsets);
    await fleet.kill('t0');
    const { revision } = await fleet.restart('t0');
    await servedAt(service, { toolset: 't0', revision });
    const afterRestart = kept(await totalsWhen(fleet, (totals) => kept(totals) === needed)) - needed;

    index.name(fleet.toolsets.slice(1));
    await refreshNow(baseUrl);
    const neededThen = neededBy(era, sizes.toolsets - 1);
    const ofRemoved = kept(await totalsWhen(fleet, (totals) => kept(totals) === neededThen)) - neededThen;

    await service.stop();
    const after = await totalsWhen(fleet, (totals) => kept(totals) + totals.sockets === 0);
    return { ...swapped, listsPerRun, afterRestart, ofRemoved, afterStop: kept(after) + after.sockets };
  } finally {
    await service?.stop();
    await model.stop();
    await index.stop();
    await fleet.stop();
  }
}

/** Counts what the floor or a peer asks of its toolsets. */
export async function countOthers(contestant: Contestant, { era, sizes }: { era: RawEra; sizes: ExactSizes }): Promise<Asked> {
  const fleet = await startFleet({ toolsets: sizes.toolsets, era });
  let running: Running | undefined;
  try {
    running = await contestant.start(fleet, { pollSeconds: SELDOM_SECONDS });
    const { serves } = running;
    const swapped = await countSwaps(running, { fleet, sizes });
    const listsPerRun = await countRuns({ fleet, runs: sizes.runs }, () => serves('t0'));
    return { ...swapped, listsPerRun };
  } finally {
    await running?.stop();
    await fleet.stop();
  }
}

type SwapCounts = Omit<Asked, 'listsPerRun'>;

async function countSwaps(running: Running, { fleet, sizes }: { fleet: Fleet; sizes: ExactSizes }): Promise<SwapCounts> {
  const before = kept(await settled(fleet));
  await fleet.resetCounts();
  const half = Math.ceil(sizes.toolsets / 2);
  for (let change = 0; change < sizes.changes; change++) await changeOne(running, { fleet, toolset: `t${change % half}` });
  const after = await settled(fleet);
  const counts = await fleet.counts();
  const changed = new Set(Array.from({ length: Math.min(half, sizes.changes) }, (_, number) => `t${number}`));
  const lists = (of: (toolset: string) => boolean) =>
    Object.entries(counts).reduce((sum, [toolset, methods]) => sum + (of(toolset) ? (methods['tools/list'] ?? 0) : 0), 0);
  return {
    listsPerChange: lists((toolset) => changed.has(toolset)) / sizes.changes,
    listsOfOthers: lists((toolset) => !changed.has(toolset)),
    moreAfterSwaps: kept(after) - before,
  };
}

/** Changes one toolset and waits until that is served, or for a moment where the contestant learns nothing of it. */
async function changeOne(running: Running, { fleet, toolset }: { fleet: Fleet; toolset: string }): Promise<void> {
  let served = 0;
  const stop = running.onServed((event) => {
    if (event.toolset === toolset) served = Math.max(served, event.revision);
  });
  try {
    const [change] = await fleet.change([toolset]);
    if (change === undefined || served >= change.revision) return;
    // What a contestant did that is not told of the change shows in the counts, and that is what is measured here.
    await servedAt(running, { toolset, revision: change.revision, timeoutMs: 1_000 }).catch(() => undefined);
  } finally {
    stop();
  }
}

async function countRuns({ fleet, runs }: { fleet: Fleet; runs: number }, run: () => Promise<unknown>): Promise<number> {
  await fleet.resetCounts();
  for (let number = 0; number < runs; number++) await run();
  const { requests } = await settled(fleet);
  return (requests['tools/list'] ?? 0) / runs;
}

async function callATool(baseUrl: string): Promise<void> {
  const { events } = await runTurn(baseUrl, { text: `${CALL_A_TOOL} open invoices` });
  const types = events.map(({ type }) => type);
  if (!types.includes('TOOL_CALL_RESULT') || types.at(-1) !== 'RUN_FINISHED') throw new Error(`A run was not whole: ${types.join(' ')}`);
}

async function refreshNow(baseUrl: string): Promise<void> {
  const response = await fetch(new URL('/refresh', baseUrl), { method: 'POST', headers: ADMIN });
  if (!response.ok) throw new Error(`POST /refresh: ${response.status} ${await response.text()}`);
  await response.arrayBuffer();
}

/** What a connected client needs of so many toolsets: a stream each, and in the 2025 era a session each. */
function neededBy(era: RawEra, toolsets: number): number {
  return era === 'legacy' ? 2 * toolsets : toolsets;
}

function kept({ sessions, streams }: FleetTotals): number {
  return sessions + streams;
}
