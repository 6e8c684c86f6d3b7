import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RawEra } from '../../tests/support/raw-state.js';
import { type Contestant, firstSeen, type Running } from '../harness/contestant.js';
import { FLOOR } from '../harness/contestant-process.js';
import { Figures } from '../harness/figures.js';
import { type Fleet, startFleet } from '../harness/fleet.js';
import type { Row } from '../harness/result.js';
import type { BenchContext, Scenario } from '../harness/scenario.js';
import { OURS } from '../harness/service.js';

const LIMIT_MS = 1_000;
/** Who has not served the changed tools after this time is said not to serve them. */
const PATIENCE_MS = 12_000;
const TOOLS = 5;
/**
 * In full mode the outages begin one after another, this far apart: with it each of them ends more than a second after another one began
 * and about a second or more before the next one does. In quick mode, with its generous limit, they begin together.
 */
const APART_MS = { quick: 0, full: 4_100 } as const;
/** So many toolsets go down at the same moment at the end of the full measurement; so many of them return after this time. */
const TOGETHER = { toolsets: 20, back: 10, downMs: 500 } as const;

/** How a toolset goes down: its port is closed and its connections are reset, or its whole process is killed. */
interface Outage {
  readonly era: RawEra;
  readonly downMs: number;
  readonly how: 'closed' | 'killed' | 'together';
}

const ERAS = { legacy: '2025 era with sessions', modern: '2026 era', stateless: '2025 era without sessions', both: 'both eras' } as const;

export const recover: Scenario = {
  goal: 'P4',
  title: 'A toolset that was down comes back with other tools',
  seconds: { quick: 6, full: 85 },
  async run(context) {
    const outages = outagesOf(context.mode);
    const figures = new Map(outages.map((outage) => [outage, new Figures()]));
    context.say(`outages of up to ${Math.max(...outages.map(({ downMs }) => downMs)) / 1_000} s`);
    // Lanes take the place of rounds: nearly all of the time is waiting, and they wait together. Peers go through one.
    const lanes = context.mode === 'quick' ? 1 : Math.min(context.rounds, 3);
    await Promise.all(Array.from({ length: lanes }, (_, lane) => runLane(lane === 0 ? context : { ...context, peers: [] }, figures)));
    return {
      goal: 'P4',
      title: recover.title,
      asks: 'down for 0.5 to 60 s and back with changed tools, without a notification: served at most 1 s after it listens again, in both protocol eras',
      rows: [...figures].map(([outage, found]) => rowOf(outage, found, context)),
      notes: NOTES,
    };
  },
};

function outagesOf(mode: BenchContext['mode']): Outage[] {
  const closed = (era: RawEra, seconds: readonly number[]) => seconds.map((down): Outage => ({ era, downMs: down * 1_000, how: 'closed' }));
  if (mode === 'quick') {
    return [...closed('legacy', [0.5, 3]), ...closed('modern', [0.5, 3]), { era: 'legacy', downMs: 1_500, how: 'killed' }];
  }
  const killed = (['legacy', 'modern'] as const).map((era): Outage => ({ era, downMs: 3_000, how: 'killed' }));
  const seconds = [0.5, 3, 10, 30, 60];
  const all = [...closed('legacy', seconds), ...closed('modern', seconds), ...closed('stateless', [60]), ...killed];
  // The long ones begin first.
  return [...all.sort((a, b) => b.downMs - a.downMs), { era: 'legacy', downMs: TOGETHER.downMs, how: 'together' }];
}

/** All contestants of a lane watch the same toolsets and go through the same outages at the same time. */
async function runLane({ mode, peers, say }: BenchContext, figures: ReadonlyMap<Outage, Figures>): Promise<void> {
  const outages = [...figures.keys()];
  const closed = outages.filter(({ how }) => how === 'closed');
  const killed = outages.filter(({ how }) => how === 'killed');
  const together = outages.find(({ how }) => how === 'together');
  const eras = [
    ...closed.map(({ era }) => era),
    ...Array.from({ length: together === undefined ? 0 : TOGETHER.toolsets }, () => 'legacy' as const),
  ];
  const fleets: Fleet[] = [];
  const running: Watching[] = [];
  const folder = await mkdtemp(join(tmpdir(), 'bench-'));
  try {
    const steady = await startFleet({ toolsets: eras.length, tools: TOOLS, era: eras });
    fleets.push(steady);
    const mortal = await Promise.all(
      killed.map(async ({ era }, number) => {
        const fleet = await startFleet({ toolsets: 1, tools: TOOLS, era, prefix: `k${number}_` });
        fleets.push(fleet);
        return fleet;
      }),
    );
    const all = await oneIndex(steady, { mortal, folder });
    const modern = new Set([
      ...closed.flatMap(({ era }, number) => (era === 'modern' ? [`t${number}`] : [])),
      ...killed.flatMap(({ era }, number) => (era === 'modern' ? [`k${number}_0`] : [])),
    ]);
    for (const contestant of [OURS, FLOOR, ...peers]) {
      say(`${contestant.name} starts`);
      const why = contestant.cannot.P4;
      if (why !== undefined) for (const found of figures.values()) found.cannot(contestant.name, why);
      else await begin(contestant, { fleet: all, modern, running, figures });
    }
    await Promise.all(
      outages.map(async (outage, place) => {
        if (outage.how === 'together') return;
        await sleep(place * APART_MS[mode]);
        const number = (outage.how === 'closed' ? closed : killed).indexOf(outage);
        if (outage.how === 'closed') await closeAndReturn(outage, { fleet: steady, name: `t${number}`, running, figures });
        else await killAndReturn(outage, { fleets, fleet: mortal[number], number, running, figures });
      }),
    );
    if (together === undefined) return;
    const names = steady.toolsets.slice(closed.length).map(({ name }) => name);
    await Promise.all(
      names.map((name, number) =>
        number < TOGETHER.back ? closeAndReturn(together, { fleet: steady, name, running, figures }) : steady.kill(name),
      ),
    );
  } finally {
    for (const { at } of running) await at.process.stop('SIGKILL');
    for (const fleet of fleets) await fleet.stop();
    await rm(folder, { recursive: true });
  }
}

/** One index, in a file, for toolsets of several processes: it has to outlive them. */
async function oneIndex(steady: Fleet, { mortal, folder }: { mortal: readonly Fleet[]; folder: string }): Promise<Fleet> {
  const toolsets = [...steady.toolsets, ...mortal.flatMap((fleet) => fleet.toolsets)];
  const indexUrl = join(folder, 'index.json');
  const connections = Object.fromEntries(toolsets.map(({ name, url }) => [name, { transport: 'streamable_http', url }]));
  await writeFile(indexUrl, JSON.stringify({ connections }));
  return { ...steady, indexUrl, toolsets };
}

interface Watching {
  readonly name: string;
  readonly at: Running;
  /** Why it does not watch the toolsets of the 2026 era; undefined where it does. */
  readonly cannotModern: string | undefined;
}

interface Started {
  readonly running: Watching[];
  readonly figures: ReadonlyMap<Outage, Figures>;
}

interface Beginning extends Started {
  readonly fleet: Fleet;
  /** The names of the toolsets of the 2026 era. */
  readonly modern: ReadonlySet<string>;
}

async function begin(contestant: Contestant, { fleet, modern, running, figures }: Beginning): Promise<void> {
  const cannotModern = contestant.cannot.modern;
  const toolsets = fleet.toolsets.filter(({ name }) => cannotModern === undefined || !modern.has(name));
  try {
    running.push({ name: contestant.name, at: await contestant.start({ ...fleet, toolsets }), cannotModern });
  } catch (error) {
    if (contestant.name === OURS.name) throw error;
    // A peer that does not start is a result too: the report says it in place of its figures.
    const why = error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error);
    for (const found of figures.values()) found.cannot(contestant.name, why);
  }
}

async function closeAndReturn(outage: Outage, { fleet, name, running, figures }: Started & { fleet: Fleet; name: string }): Promise<void> {
  await fleet.kill(name);
  await sleep(outage.downMs);
  const watches = watchesOf(outage, { running, figures }, name);
  const { revision, listeningAt } = await fleet.restart(name);
  await note(outage, { watches, revision, listeningAt, figures });
}

/** Begins to watch what each contestant shows of the toolset, but for those that do not speak to it. */
function watchesOf(outage: Outage, { running, figures }: Started, toolset: string): Return['watches'] {
  return running.flatMap(({ name, at, cannotModern }) => {
    if (outage.era !== 'modern' || cannotModern === undefined) return [{ name, seen: firstSeen(at, toolset) }];
    figures.get(outage)?.cannot(name, cannotModern);
    return [];
  });
}

interface Mortal extends Started {
  readonly fleets: Fleet[];
  readonly fleet: Fleet | undefined;
  readonly number: number;
}

async function killAndReturn(outage: Outage, { fleets, fleet, number, running, figures }: Mortal): Promise<void> {
  const toolset = fleet?.toolsets[0];
  if (fleet === undefined || toolset === undefined) throw new Error('There is no toolset to kill.');
  await fleet.process.stop('SIGKILL');
  await sleep(outage.downMs);
  const watches = watchesOf(outage, { running, figures }, toolset.name);
  const port = Number(new URL(toolset.url).port);
  const back = await startFleet({ toolsets: 1, tools: TOOLS, era: outage.era, prefix: `k${number}_`, port, revision: 1 });
  fleets.push(back);
  await note(outage, { watches, revision: 1, listeningAt: back.listeningAt, figures });
}

interface Return {
  readonly watches: readonly { readonly name: string; readonly seen: ReturnType<typeof firstSeen> }[];
  readonly revision: number;
  readonly listeningAt: number;
  readonly figures: ReadonlyMap<Outage, Figures>;
}

async function note(outage: Outage, { watches, revision, listeningAt, figures }: Return): Promise<void> {
  await Promise.all(
    watches.map(async ({ name, seen }) => {
      try {
        figures.get(outage)?.add(name, (await seen.of(revision, PATIENCE_MS)) - listeningAt);
      } catch (error) {
        // Not to come back is what the goal is about. For ours it is a failure of the benchmark itself.
        if (name === OURS.name) throw error;
        figures.get(outage)?.cannot(name, `not served within ${PATIENCE_MS / 1_000} s`);
      }
    }),
  );
}

function rowOf({ era, downMs, how }: Outage, figures: Figures, { mode }: BenchContext): Row {
  const seconds = downMs / 1_000;
  const down = {
    closed: `down for ${seconds} s`,
    killed: `its process killed and started again after ${seconds} s`,
    together: `${TOGETHER.toolsets} go down at the same moment, ${TOGETHER.back} of them for ${seconds} s`,
  }[how];
  return {
    measure: `${ERAS[era]}, ${down}: listening to served`,
    unit: 'ms',
    // A machine that is busy with something else may need longer for a round trip; a wait of seconds is what the quick measurement finds.
    ...(how !== 'together' && { limit: { atMost: mode === 'full' ? LIMIT_MS : 3 * LIMIT_MS } }),
    ours: figures.cell(OURS.name),
    others: figures.others(OURS.name),
    // Retries are spread at random, so the rounds differ although nothing is unstable.
    noiseFloor: LIMIT_MS,
  };
}

const NOTES = [
  'All contestants watch the same toolsets and go through the same outages at the same time. Each outage has a toolset of its own, and none begins or ends within about a second of another, but for those that go down at the same moment. The rounds run side by side, each with processes of its own. While a toolset is down, connections to its port are refused. It returns without its sessions, with changed tools, and announces nothing.',
  'The time begins when the port listens again. Retries are jittered: by contract a toolset that answers nothing is asked every 0.5 to 1 s, so the figures lie between 0 and 1 s and a round trip.',
  'A 2025-era server without sessions cannot push and is polled every 30 s; only an outage that a poll meets is noticed, hence the 60 s.',
  'Where several go down at the same moment and some of them stay away, those that return wait for the round that lists all of them. A round tries a list up to three times within 2 s before it is aborted, so by contract others are held up for 2 s at most.',
  'A peer that does not tell its changes is asked what a run would be shown every few milliseconds, from the restart on. One that lists for each run is thereby shown at its best: the run that finds the toolset back pays the time for it.',
  'The floor asks again every 20 ms without any patience. It shows what the exchanges cost, not how a server should be treated.',
];
