import { FLOOR } from '../harness/contestant-process.js';
import { Figures } from '../harness/figures.js';
import type { Row } from '../harness/result.js';
import type { BenchContext } from '../harness/scenario.js';
import { OURS } from '../harness/service.js';
import { ratios, spreadOf } from '../harness/statistics.js';

/** The windows in which changes are collected, in milliseconds. */
export const WINDOWS = { quick: [0], full: [100, 0] } as const;

/** A toolset may cause 20 swaps in a row (CONTRACT.md 3.10); with the changes that warm up, one process takes no more than that of one toolset. */
export const CHANGES = 17;
/** A single toolset has to rest after each change, so there are fewer of them. */
export const CHANGES_OF_ONE = 9;
export const WARM_UP = 3;

/**
 * From the third swap in a row on, the service lets the notifications of a toolset wait for this long after its last swap, so that one that
 * changes all the time is not slowed down for good. What is asked here is how soon a change is seen that follows no other.
 */
export function restAfterSwapMs(windowMs: number): number {
  return Math.min(800, Math.max(280, 8 * windowMs)) + 40;
}

/** What was measured: figures by measure, toolsets and window. */
export class Book {
  readonly #figures = new Map<string, Figures>();
  /** Runs that were begun after the service said that it serves a change, each of which was shown it. */
  provenRuns = 0;

  of(what: string, toolsets: number, window = 0): Figures {
    const key = `${what} ${toolsets} ${window}`;
    const found = this.#figures.get(key) ?? new Figures();
    this.#figures.set(key, found);
    return found;
  }
}

export function rowsOf(book: Book, { context, sizes }: { context: BenchContext; sizes: readonly number[] }): Row[] {
  const rows: Row[] = [];
  const [one = 1, many = 1] = sizes;
  const asked: { p50: number; p99?: number; many: number } =
    context.mode === 'quick' ? { p50: 20, many: 5 } : { p50: 1.5, p99: 3, many: 1.25 };
  const idleOf = (size: number, window: number) => book.of('idle', size, window).of(FLOOR.name);
  const servedOf = (what: string, size: number, window: number) =>
    book
      .of(what, size, window)
      .of(OURS.name)
      .map((time) => Math.max(0, time - window));
  for (const window of WINDOWS[context.mode]) {
    for (const size of sizes) {
      for (const what of ['p50', 'p99'] as const) {
        const figures = book.of(what, size, window);
        rows.push({
          measure: `change to served, ${what}, ${named(size)}, window ${window} ms`,
          unit: 'ms',
          ours: figures.cell(OURS.name),
          others: figures.others(OURS.name),
          ratio: {
            to: 'an idle `tools/list` of the floor, after the window is taken off',
            spread: spreadOf(ratios(servedOf(what, size, window), idleOf(size, window))),
            ...(asked[what] !== undefined && { atMost: asked[what] }),
          },
        });
      }
    }
    const growth = ratios(book.of('p50', many, window).of(OURS.name), book.of('p50', one, window).of(OURS.name));
    rows.push({
      measure: `change to served, p50, ${named(many)} against 1, window ${window} ms`,
      unit: '×',
      limit: { atMost: asked.many },
      ours: spreadOf(growth),
      others: { [FLOOR.name]: spreadOf(ratios(book.of('p50', many, window).of(FLOOR.name), book.of('p50', one, window).of(FLOOR.name))) },
    });
    rows.push({
      measure: `an idle \`tools/list\`, p50, window ${window} ms: what the ratios refer to`,
      unit: 'ms',
      ours: { cannot: 'it is the floor that is asked' },
      others: book.of('idle', one, window).others(OURS.name),
    });
    if (context.mode === 'full') {
      for (const what of ['run p50', 'run p99']) {
        rows.push({
          measure: `change to the beginning of the first run that sees it, ${what.slice(4)}, 1 toolset, window ${window} ms`,
          unit: 'ms',
          ours: book.of(what, one, window).cell(OURS.name),
          others: {},
        });
      }
    }
  }
  return rows;
}

const named = (toolsets: number) => `${toolsets} toolset${toolsets === 1 ? '' : 's'}`;

export function notesOf({ mode, peers }: BenchContext, { provenRuns }: Book): string[] {
  return [
    `In each process ${WARM_UP} changes warm up and ${CHANGES} are measured, with a pause of 10 to 40 ms after each. Where there is one toolset ${CHANGES_OF_ONE} are measured, and it rests for ${restAfterSwapMs(100)} ms after each, ${restAfterSwapMs(0)} ms without a window: from the third swap in a row on a toolset's changes keep that pace. A toolset may cause 20 swaps in a row, so one process takes no more of a single toolset; p99 is therefore nearly the slowest of a round.`,
    'The time begins when the toolset has changed and is about to announce it, and ends when the event of the new generation has arrived at a client of `GET /refresh/events`. Both are read from the machine’s monotonic clock.',
    `After each of these events with one toolset a real run was begun: in all ${provenRuns} of them the model was shown the new description. A run that is shown an older one would end the benchmark with an error.`,
    'The floor lists when it is notified, after the same window, and looks at the first description only. Its idle `tools/list` is measured in the same process, with the same pauses.',
    ...(mode === 'full'
      ? ['The first run that sees a change is found by runs one after another; the figure can be late by the length of one run.']
      : ['The quick measurement has fewer toolsets and generous limits: it finds what has become several times slower.']),
    ...(peers.length > 0
      ? [
          'Peers are measured in the first round, with their own default window if they have one: the same figures stand beside both of our windows. One that lists for each run is asked again and again, and the time until its first right answer counts.',
        ]
      : []),
  ];
}
