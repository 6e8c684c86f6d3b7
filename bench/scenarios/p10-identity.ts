import { setTimeout as sleep } from 'node:timers/promises';
import { machineNow } from '../harness/clock.js';
import { FLOOR } from '../harness/contestant-process.js';
import { Figures } from '../harness/figures.js';
import { type Fleet, startFleet } from '../harness/fleet.js';
import { measureIdentity } from '../harness/identity.js';
import { startNode } from '../harness/node-process.js';
import { PageReader, type ReadPage } from '../harness/page-reader.js';
import type { Row, ScenarioResult } from '../harness/result.js';
import type { BenchContext, Scenario } from '../harness/scenario.js';
import { OURS, type RunningService, startService } from '../harness/service.js';
import { quantile, ratios, spreadOf } from '../harness/statistics.js';

const VIEW_BYTES = 300_000;
const READERS = 100;
const VIEW = '/views/t0/view.html';
const SIZES = { quick: { reads: 200, changes: 300 }, full: { reads: 1_500, changes: 1_500 } } as const;

/** P10: what it costs to tell whether a toolset has changed, and to serve a view. */
export const identity: Scenario = {
  goal: 'P10',
  title: 'Fingerprints and views',
  seconds: { quick: 0, full: 50 },
  async run(context) {
    const figures = new Map<Measure, Figures>();
    const add = (measure: Measure, contestant: string, figure: number) => {
      figures.set(measure, figures.get(measure) ?? new Figures());
      figures.get(measure)?.add(contestant, figure);
    };
    const { reads, changes } = SIZES[context.mode];
    for (let round = 1; round <= context.rounds; round++) {
      context.say(`round ${round} of ${context.rounds}: fingerprints`);
      const times = await measureIdentity({ toolsets: 300, tools: 17, changes });
      add('changed', OURS.name, quantile(times.changed, 0.5));
      add('changed', FLOOR.name, quantile(times.floor, 0.5));
      add('unchanged', OURS.name, quantile(times.unchanged, 0.5));
      add('whole', OURS.name, quantile(times.whole, 0.5));
      context.say(`round ${round} of ${context.rounds}: views`);
      await withView(async ({ fleet, service, page }) => {
        for (const [contestant, url] of [
          [OURS.name, `${service.baseUrl}${VIEW}`],
          [FLOOR.name, undefined],
        ] as const) {
          const read = await readTimes(url ?? page, reads);
          for (const [measure, ms] of Object.entries(read)) add(measure as 'hit' | 'match', contestant, ms);
        }
        for (const [measure, count] of Object.entries(await readsOfToolset({ fleet, service })))
          add(measure as 'cold' | 'again', OURS.name, count);
      });
    }
    return resultOf(figures, context);
  },
};

type Measure = 'changed' | 'unchanged' | 'whole' | 'hit' | 'match' | 'cold' | 'again';

interface ViewPlace {
  readonly fleet: Fleet;
  readonly service: RunningService;
  readonly page: ReadPage;
}

async function withView(work: (place: ViewPlace) => Promise<void>): Promise<void> {
  const fleet = await startFleet({ toolsets: 2, viewBytes: VIEW_BYTES });
  try {
    const service = await startService(fleet);
    const reader = new PageReader(`${service.baseUrl}/views/t1/view.html`);
    try {
      await work({ fleet, service, page: await reader.read() });
    } finally {
      reader.close();
      await service.process.stop('SIGKILL');
    }
  } finally {
    await fleet.stop();
  }
}

/** The middle time of a whole answer and of a 304: from this URL or, where it is a page, from the floor that sends the same. */
async function readTimes(from: string | ReadPage, reads: number): Promise<Record<'hit' | 'match', number>> {
  if (typeof from !== 'string') {
    const floor = startNode({ script: new URL('../floor/pages.js', import.meta.url).href });
    try {
      const { url } = await floor.commander.give<{ url: string }>('start', { body: from.body, etag: from.headers.etag });
      return await readTimes(url, reads);
    } finally {
      await floor.stop('SIGKILL');
    }
  }
  const reader = new PageReader(from);
  try {
    // The code is compiled by the first reads; only later ones count.
    const { headers } = await reader.read();
    await reader.times(reads / 2, { status: 200 });
    const hit = await reader.times(reads, { status: 200 });
    const asked = { status: 304, headers: { 'if-none-match': String(headers.etag) } };
    await reader.times(reads / 2, asked);
    return { hit: quantile(hit, 0.5), match: quantile(await reader.times(reads, asked), 0.5) };
  } finally {
    reader.close();
  }
}

/** How often the toolset is asked for its view while many read it: the first time, and after it changed. */
async function readsOfToolset({ fleet, service }: { fleet: Fleet; service: RunningService }): Promise<Record<'cold' | 'again', number>> {
  const other = await startService(fleet);
  const readers = Array.from({ length: READERS }, () => new PageReader(`${other.baseUrl}${VIEW}`));
  const asked = async () => (await fleet.counts(['t0'])).t0?.['resources/read'] ?? 0;
  try {
    await service.process.stop('SIGKILL');
    await fleet.resetCounts();
    const first = await Promise.all(readers.map((reader) => reader.read()));
    const cold = await asked();
    await fleet.resetCounts();
    await fleet.changeView('t0');
    const endsAt = machineNow() + 10_000;
    for (let seen = first; seen.some((page) => page.headers.etag === first[0]?.headers.etag); ) {
      if (machineNow() > endsAt) throw new Error('The changed view was not served.');
      seen = await Promise.all(readers.map((reader) => reader.read()));
    }
    // A second read would follow soon.
    await sleep(300);
    return { cold, again: await asked() };
  } finally {
    for (const reader of readers) reader.close();
    await other.process.stop('SIGKILL');
  }
}

function resultOf(figures: ReadonlyMap<Measure, Figures>, { mode }: BenchContext): ScenarioResult {
  const row = (measure: Measure, what: string, unit: string, atMost?: number): Row => {
    const figure = figures.get(measure) ?? new Figures();
    const exact = unit === 'reads' ? { atLeast: atMost } : {};
    // A quick run judges no absolute times: a slow machine would fail it.
    const limit = atMost === undefined || (mode === 'quick' && unit === 'ms') ? undefined : { atMost, ...exact };
    const floor = figure.of(FLOOR.name);
    return {
      ...{ measure: what, unit, ours: figure.cell(OURS.name), others: figure.others(OURS.name) },
      ...(limit !== undefined && { limit }),
      ...(floor.length > 0 && {
        ratio: { to: FLOOR.name, spread: spreadOf(ratios(figure.of(OURS.name), floor)), ...(mode === 'quick' && { atMost: 12 }) },
      }),
    };
  };
  return {
    goal: 'P10',
    title: identity.title,
    asks: 'A fingerprint takes at most 1 ms per changed toolset among 5 100 tools, a view of 300 kB 0.5 ms and a 304 0.25 ms; a view is read once per change, whoever asks.',
    rows: [
      row('changed', 'fingerprint after one of 300 toolsets with 17 tools changed', 'ms', 1),
      row('unchanged', 'one toolset with 17 tools found unchanged', 'ms'),
      row('whole', 'fingerprint of 5 100 tools without what is remembered', 'ms'),
      row('hit', 'a view of 300 kB from the cache', 'ms', 0.5),
      row('match', 'a view that the client has (304)', 'ms', 0.25),
      row('cold', `reads of the toolset when ${READERS} ask at once for the first time`, 'reads', 1),
      row('again', `reads of the toolset after a change while ${READERS} ask`, 'reads', 1),
    ],
    notes: [
      "Fingerprints are taken in a process of their own by the built package's functions, as a round takes them: each tool of the changed toolset, that toolset, and all toolsets together. Their floor is the hash of the list's JSON text and of all toolsets' hashes.",
      'Views are read one after another on one connection, without compression; the time runs from the request to the last byte, in another process. The floor is a node:http server that sends the same bytes.',
    ],
  };
}
