import { FLOOR } from '../../bench/harness/contestant-process.js';
import type { BenchRecord, Origin } from '../../bench/harness/record.js';
import type { Row } from '../../bench/harness/result.js';
import type { Spread } from '../../bench/harness/statistics.js';

/** A figure of three rounds, or of one where only one number is given. */
export function figure(median: number, min = median, max = median): Spread {
  return { median, min, max, rounds: min === max ? 1 : 3 };
}

export function rowOf(row: Partial<Row>): Row {
  return { measure: 'a measure', unit: 'ms', ours: figure(10), others: {}, ...row };
}

const origin: Origin = {
  date: '2026-01-01',
  command: 'npm run bench -- --rounds 3 --seed 1',
  rounds: 3,
  seed: 1,
  node: 'v20.0.0',
  system: 'linux x64',
  cores: 2,
  processor: 'A processor',
  memoryGb: 16,
  product: '0.1.0 (abcdef0)',
  contestants: { [FLOOR.name]: 'v20.0.0', Adapters: '1.2.3', Listener: '4.5.6' },
};

/** Results of two goals as a measurement writes them: one met, one not met and with a peer that is better. */
export const SAMPLE: BenchRecord = [
  {
    goal: 'P1',
    title: 'Fresh: from a change to the next run',
    asks: 'Served within the debounce window and 1.5 list round trips.',
    rows: [
      rowOf({
        measure: 'change to served, window of 0, p50, 1 toolset',
        limit: { atMost: 12 },
        ours: figure(9.4, 8.8, 10.1),
        others: { [FLOOR.name]: figure(6.2, 5.9, 7.5), Adapters: figure(23, 17, 34), Listener: { cannot: 'is not told of changes' } },
      }),
      rowOf({
        measure: 'change to served, window of 0, p50, 300 toolsets',
        ratio: { to: FLOOR.name, spread: figure(1.4, 1.3, 1.45), atMost: 1.5 },
        ours: figure(11, 10.4, 12.3),
        others: { [FLOOR.name]: figure(8, 7.7, 8.8), Adapters: figure(900, 767, 967), Listener: { cannot: 'is not told of changes' } },
      }),
      rowOf({ measure: 'lists', unit: '', ours: figure(1), limit: { atMost: 1, atLeast: 1 }, others: { [FLOOR.name]: figure(1) } }),
    ],
    notes: ['300 toolsets with 17 tools each.'],
    origin,
  },
  {
    goal: 'P9',
    title: 'Runs',
    asks: 'As many runs as a route written by hand.',
    rows: [
      rowOf({
        measure: 'runs, 16 at a time',
        unit: 'runs/s',
        limit: { atLeast: 200 },
        ours: figure(180, 175, 190),
        others: { Adapters: figure(210, 200, 215) },
      }),
    ],
    notes: ['The model answers at once.'],
    origin,
    versions: { 'written by hand': 'Express 5' },
  },
];
