import { Figures } from '../harness/figures.js';
import { startFleet } from '../harness/fleet.js';
import type { Row, ScenarioResult } from '../harness/result.js';
import type { BenchContext, Scenario } from '../harness/scenario.js';
import { ratios, spreadOf } from '../harness/statistics.js';
import { startLoad } from '../load/load.js';
import { measureRuns, type RunBench, type RunCase, type RunFigures, withContestant } from '../load/measure.js';
import { HAND_WRITTEN, OUR_RUNS, type RunContestant } from '../load/run-contestant.js';
import { type UnderSwaps, underSwaps } from '../load/under-swaps.js';
import { startModel } from '../model/model.js';
import { COPILOTKIT, installedRunPeers, LANGGRAPH_API } from '../peers/run-peers.js';

const OURS = OUR_RUNS.name;

type CaseName = 'tool' | 'plain' | 'alone' | 'crowd' | 'paced';

const CASES: Readonly<Record<CaseName, RunCase & { readonly words: string }>> = {
  tool: { turn: 'tool', concurrent: 16, tokenMs: 0, words: '16 at once, a turn with a tool call' },
  plain: { turn: 'plain', concurrent: 16, tokenMs: 0, words: '16 at once, a plain answer' },
  alone: { turn: 'plain', concurrent: 1, tokenMs: 0, words: 'one at a time, a plain answer' },
  crowd: { turn: 'tool', concurrent: 64, tokenMs: 0, words: '64 at once, a turn with a tool call, a model without delay' },
  paced: { turn: 'tool', concurrent: 64, tokenMs: 20, words: '64 at once, a turn with a tool call, a model with 20 ms per token' },
};

const LENGTHS = {
  quick: { cases: ['tool'], warmUpMs: 1_500, forMs: 2_000, swapsForMs: 3_000, handWritten: 0.6 },
  full: { cases: ['tool', 'plain', 'alone', 'crowd', 'paced'], warmUpMs: 3_000, forMs: 2_500, swapsForMs: 8_000, handWritten: 0.95 },
} as const satisfies Record<BenchContext['mode'], { cases: readonly CaseName[]; [length: string]: unknown }>;

/** How many times the runs per second of these peers the goal asks for. */
const AT_LEAST: Readonly<Record<string, number>> = { [COPILOTKIT]: 1.7, [LANGGRAPH_API]: 7 };

/** Of a count no spread is too wide. */
const ANY_NUMBER = 1_000_000;

const NOTES: readonly string[] = [
  'Toolset (17 tools), model provider, load client and service are four processes on the same cores. When a run ends, the load client begins the next one, each on a new thread, over a kept connection.',
  'A turn with a tool call is two requests to the model, one tool call, and an answer of 21 tokens. The model sends its answers at once, so that the service alone is measured, or waits 20 ms before each token.',
  'The first event is `RUN_STARTED`; of langgraph-api, `metadata`. The opening wave (as many requests as run at once, on new connections, all in one moment) is a row of its own: real clients come one after the other. A stream is whole when its first and last event, the arguments and the result of its call and every token of its answer are there.',
  'Written by hand: the same LangGraph agent, model client and MCP client in one Express route that sends AG-UI events. It lists the tools once, keeps no history of turns, sends no snapshot of the thread, and never sees a change.',
  'CopilotKit’s runtime answers with its built-in agent and `mcpServers`, which connects to every server and lists its tools for each run. It has no LangGraph in its process. langgraph-api is the server behind `langgraphjs dev`, with 64 workers in place of its default of 10.',
  'For the swaps the first tool’s description changes every 500 ms while runs of about 0.7 s stream. The model writes the revision that it is shown into the id of its tool call, and compares when the result comes back.',
];

/** P9: what a run costs, how soon its first event comes, and that a swap in between changes none. */
export const runs: Scenario = {
  goal: 'P9',
  title: 'Runs are nearly as cheap as in a route written by hand',
  seconds: { quick: 18, full: 130 },
  async run(context) {
    const peers = context.peers.length > 0 ? installedRunPeers() : [];
    const measured = new Measured();
    await withBench(async (bench) => {
      for (let round = 1; round <= context.rounds; round++) {
        for (const contestant of [OUR_RUNS, HAND_WRITTEN, ...peers]) {
          context.say(`round ${round} of ${context.rounds}: ${contestant.name}`);
          await measureOne(contestant, { bench, context, measured });
        }
      }
    });
    context.say('runs while a toolset changes every 500 ms');
    const swaps = await withBench((bench) => underSwaps(bench, LENGTHS[context.mode]));
    return resultOf({ measured, swaps, context, peers });
  },
};

/** All figures, by case and kind. */
class Measured {
  readonly #figures = new Map<string, Figures>();

  of(runCase: CaseName, kind: keyof RunFigures): Figures {
    const key = `${runCase} ${kind}`;
    const known = this.#figures.get(key) ?? new Figures();
    this.#figures.set(key, known);
    return known;
  }
}

async function withBench<T>(use: (bench: RunBench) => Promise<T>): Promise<T> {
  const fleet = await startFleet({ toolsets: 1 });
  const load = startLoad();
  try {
    const model = await startModel();
    try {
      return await use({ fleet, model, load });
    } finally {
      await model.stop();
    }
  } finally {
    await load.stop();
    await fleet.stop();
  }
}

interface Measuring {
  readonly bench: RunBench;
  readonly context: BenchContext;
  readonly measured: Measured;
}

async function measureOne(contestant: RunContestant, { bench, context, measured }: Measuring): Promise<void> {
  const { cases, warmUpMs, forMs } = LENGTHS[context.mode];
  const isOurs = contestant === OUR_RUNS || contestant === HAND_WRITTEN;
  try {
    await withContestant(contestant, { bench, warmUpMs }, async (running) => {
      for (const name of cases) {
        const figures = await measureRuns(running, { bench, runs: CASES[name], forMs });
        for (const kind of ['perSecond', 'cpuMs', 'firstP50', 'firstP99', 'openingMax', 'lastP50', 'failed'] as const) {
          const known = measured.of(name, kind);
          if (Number.isFinite(figures[kind])) known.add(contestant.name, figures[kind]);
          else known.cannot(contestant.name, figures.failure ?? 'too few runs');
        }
      }
    });
  } catch (error) {
    if (isOurs) throw error;
    // A peer that fails is a result too: the report says it in place of its figures.
    const why = error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error);
    for (const name of cases) for (const kind of ['perSecond', 'firstP50'] as const) measured.of(name, kind).cannot(contestant.name, why);
  }
}

interface Outcome {
  readonly measured: Measured;
  readonly swaps: UnderSwaps;
  readonly context: BenchContext;
  readonly peers: readonly RunContestant[];
}

function resultOf({ measured, swaps, context, peers }: Outcome): ScenarioResult {
  const { cases, handWritten } = LENGTHS[context.mode];
  const row = (name: CaseName, kind: keyof RunFigures, words: { measure: string; unit: string }): Row => {
    const figures = measured.of(name, kind);
    return { measure: `${words.measure}, ${CASES[name].words}`, unit: words.unit, ours: figures.cell(OURS), others: figures.others(OURS) };
  };
  const throughput = (name: 'tool' | 'plain') => {
    const figures = measured.of(name, 'perSecond');
    const against = (to: string, atLeast: number): Row[] => {
      const spread = ratios(figures.of(OURS), figures.of(to));
      const both = row(name, 'perSecond', { measure: `runs per second against ${to}`, unit: 'runs/s' });
      return [
        { ...both, others: { [to]: figures.cell(to) }, ...(spread.length > 0 && { ratio: { to, spread: spreadOf(spread), atLeast } }) },
      ];
    };
    return [...against(HAND_WRITTEN.name, handWritten), ...peers.flatMap((peer) => against(peer.name, AT_LEAST[peer.name] ?? 1))];
  };
  const firstEvent = (name: 'crowd' | 'paced') => [
    { ...row(name, 'firstP50', { measure: 'first event, p50', unit: 'ms' }), limit: { atMost: 5 } },
    { ...row(name, 'firstP99', { measure: 'first event, p99', unit: 'ms' }), limit: { atMost: 50 } },
  ];
  const full: Row[] =
    context.mode === 'quick'
      ? []
      : [
          ...throughput('plain'),
          ...firstEvent('crowd'),
          ...firstEvent('paced'),
          row('crowd', 'openingMax', { measure: 'first event of the opening wave, slowest', unit: 'ms' }),
          row('paced', 'openingMax', { measure: 'first event of the opening wave, slowest', unit: 'ms' }),
          row('tool', 'firstP50', { measure: 'first event, p50', unit: 'ms' }),
          row('alone', 'firstP50', { measure: 'first event, p50', unit: 'ms' }),
          row('alone', 'lastP50', { measure: 'last event, p50', unit: 'ms' }),
          row('paced', 'lastP50', { measure: 'last event, p50', unit: 'ms' }),
          row('plain', 'cpuMs', { measure: 'CPU time per run', unit: 'ms' }),
        ];
  const count = (measure: string, value: number, limit: Row['limit']): Row => ({
    measure,
    unit: 'count',
    limit,
    ours: spreadOf([value]),
    others: {},
    noiseFloor: ANY_NUMBER,
  });
  return {
    goal: 'P9',
    title: runs.title,
    asks:
      'At least 0.95 × the runs per second of the same agent in an Express route written by hand, 1.7 × those of CopilotKit’s runtime and 7 × those of langgraph-api; ' +
      'the first event at 64 runs at once within 5 ms (p50) and 50 ms (p99); a swap in between changes no run.',
    rows: [
      ...throughput('tool'),
      row('tool', 'cpuMs', { measure: 'CPU time per run', unit: 'ms' }),
      ...full,
      ...cases.map((name) => ({
        ...row(name, 'failed', { measure: 'runs whose stream is not whole', unit: 'count' }),
        limit: { atMost: 0 },
        noiseFloor: ANY_NUMBER,
      })),
      count('runs during swaps', swaps.runs, undefined),
      count('runs during swaps whose stream is not whole', swaps.failed, { atMost: 0 }),
      count('runs during swaps that saw the tools of two generations', swaps.mixed, { atMost: 0 }),
      count('generations that these runs ran on', swaps.generations, { atLeast: context.mode === 'quick' ? 3 : 8 }),
    ],
    notes: NOTES,
    versions: Object.fromEntries([HAND_WRITTEN, ...peers].map(({ name, version }) => [name, version])),
  };
}
