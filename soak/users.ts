import { createHash, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type ModelRequest, type ModelServer, shownTools } from '../tests/support/model-server.js';
import { beginTurn, type RunningTurn } from '../tests/support/run-client.js';
import type { Chance } from './chance.js';

/** What users have seen. */
export class Findings {
  runs = 0;
  left = 0;
  calls = 0;
  failedCalls = 0;
  readonly faults: string[] = [];
  readonly generations = new Set<number>();

  fault(text: string): void {
    if (this.faults.length < 50) this.faults.push(text);
  }
}

export interface UsersOptions {
  readonly baseUrl: string;
  readonly model: ModelServer;
  readonly chance: Chance;
  readonly signal: AbortSignal;
  readonly findings: Findings;
  readonly users: number;
}

/** Lets users talk to the agent one run after the other, until the signal, and looks at every run. */
export async function talk(options: UsersOptions): Promise<void> {
  const { model, chance, findings, users, signal } = options;
  /** What the model was shown first, by run; and by generation, over all runs. */
  const shownByRun = new Map<string, string>();
  const shownByGeneration = new Map<number, string>();
  let calls = 0;
  model.reply((request) => {
    const requests = model.requests as ModelRequest[];
    // Kept requests would fill the memory of this process within minutes.
    requests.length = 0;
    const run = runOf(request);
    const shown = digestOf(request);
    if (shownByRun.has(run) && shownByRun.get(run) !== shown) findings.fault(`Run ${run} was shown two sets of tools.`);
    shownByRun.set(run, shown);
    const steps = request.body.messages.length - request.body.messages.findLastIndex(({ role }) => role === 'user');
    const names = shownTools(request).map(({ name }) => name);
    if (names.length === 0 || steps > chance.between(1, 8))
      return { text: 'All of this is done by now, as you asked.', tokenMs: chance.between(0, 100) };
    return {
      toolCalls: Array.from({ length: Math.ceil(chance.between(0, 3)) }, () => {
        calls += 1;
        return { name: chance.pick(names), args: { ms: Math.round(chance.between(0, 1_500)) }, id: `call_${calls}` };
      }),
    };
  });
  const one = async () => {
    let threadId = randomUUID();
    while (!signal.aborted) {
      if (chance.next() < 0.2) threadId = randomUUID();
      const id = randomUUID();
      try {
        await oneRun({ ...options, threadId, id, shownByRun, shownByGeneration });
      } catch (error) {
        findings.fault(`Run ${id} could not be made: ${String(error)}`);
        await sleep(500);
      }
      shownByRun.delete(id);
      await sleep(chance.between(0, 500));
    }
  };
  await Promise.all(Array.from({ length: users }, one));
}

interface OneRun extends UsersOptions {
  readonly threadId: string;
  readonly id: string;
  readonly shownByRun: ReadonlyMap<string, string>;
  readonly shownByGeneration: Map<number, string>;
}

async function oneRun({ baseUrl, chance, findings, threadId, id, shownByRun, shownByGeneration }: OneRun): Promise<void> {
  const turn = await begin(baseUrl, { id, threadId });
  if (turn.status !== 200) {
    findings.fault(`Run ${id} was answered with ${turn.status}: ${JSON.stringify((await turn.done).problem)}`);
    return;
  }
  findings.runs += 1;
  if (chance.next() < 0.05) {
    await sleep(chance.between(0, 800));
    turn.leave();
    findings.left += 1;
    // The connection was broken by this side.
    await turn.done.catch(() => undefined);
    return;
  }
  const { events } = await turn.done;
  const [first, last] = [events[0], events.at(-1)];
  if (last?.type !== 'RUN_FINISHED') findings.fault(`Run ${id} ended with ${JSON.stringify(last)}.`);
  const generation = Number((first?.metadata as { generation?: number } | undefined)?.generation);
  if (first?.type !== 'RUN_STARTED' || String(generation) !== turn.headers.get('x-agent-generation'))
    findings.fault(`Run ${id} began with ${JSON.stringify(first)} on generation ${turn.headers.get('x-agent-generation')}.`);
  findings.generations.add(generation);
  const results = events.filter(({ type }) => type === 'TOOL_CALL_RESULT');
  findings.calls += results.length;
  findings.failedCalls += results.filter(({ content }) => String(content).startsWith('Error')).length;
  const shown = shownByRun.get(id) ?? '';
  const before = shownByGeneration.get(generation);
  if (before !== undefined && before !== shown) findings.fault(`Generation ${generation} showed two sets of tools (run ${id}).`);
  shownByGeneration.set(generation, shown);
}

/** A thread whose user has left may be busy until the service has noticed; it says so by 409. */
async function begin(baseUrl: string, { id, threadId }: { id: string; threadId: string }): Promise<RunningTurn> {
  for (let attempt = 0; ; attempt += 1) {
    const turn = await beginTurn(baseUrl, { text: `Run ${id}`, threadId });
    if (turn.status !== 409 || attempt === 2) return turn;
    await sleep(1_000);
  }
}

function runOf({ body }: ModelRequest): string {
  const last = body.messages.findLast(({ role }) => role === 'user')?.content;
  return String(typeof last === 'string' ? last : JSON.stringify(last)).match(/[0-9a-f-]{36}/)?.[0] ?? '';
}

function digestOf({ body }: ModelRequest): string {
  return createHash('sha256')
    .update(JSON.stringify(body.tools ?? []))
    .digest('hex');
}
