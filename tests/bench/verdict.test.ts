import { fails, judge, verdictOf } from '../../bench/harness/verdict.js';
import { figure, rowOf } from './sample-record.js';

const verdict = (row: Parameters<typeof rowOf>[0]) => judge(rowOf(row)).verdict;

test('a row without a limit is for information', () => {
  expect(verdict({})).toBe('for information');
  expect(verdict({ ratio: { to: 'floor', spread: figure(3) } })).toBe('for information');
});

test('a row is met when its median is within the limit, the limit itself included', () => {
  expect(verdict({ ours: figure(10), limit: { atMost: 10 } })).toBe('met');
  expect(verdict({ ours: figure(10.1), limit: { atMost: 10 } })).toBe('not met');
  expect(verdict({ ours: figure(10), limit: { atLeast: 10 } })).toBe('met');
  expect(verdict({ ours: figure(9.9), limit: { atLeast: 10 } })).toBe('not met');
  expect(verdict({ ours: figure(2), limit: { atMost: 1, atLeast: 1 } })).toBe('not met');
  expect(verdict({ ours: figure(9, 8, 14), limit: { atMost: 10 } })).toBe('met');
});

test('a row with a ratio is met when the ratio is within its limit too', () => {
  const ratio = { to: 'floor', spread: figure(1.4), atMost: 1.5 };
  expect(verdict({ ratio })).toBe('met');
  expect(verdict({ ratio, limit: { atMost: 9 } })).toBe('not met');
  expect(verdict({ ratio: { ...ratio, spread: figure(1.6) } })).toBe('not met');
});

test('a thing that a goal asks for and that we cannot do is not met', () => {
  expect(verdict({ ours: { cannot: 'nothing is kept' }, limit: { atMost: 10 } })).toBe('not met');
});

test('a figure that is no number is not met, also after it was written and read', () => {
  const row = rowOf({ ours: figure(Number.NaN), limit: { atMost: 10 } });
  expect(judge(row).verdict).not.toBe('met');
  expect(judge(JSON.parse(JSON.stringify(row))).verdict).not.toBe('met');
  expect(fails(row)).toBe(true);
});

test('rounds more than twice apart are unstable, unless they lie in the noise', () => {
  expect(verdict({ ours: figure(8, 4, 9), limit: { atMost: 10 } })).toBe('unstable');
  expect(verdict({ ours: figure(8, 4, 9), limit: { atMost: 10 }, noiseFloor: 5 })).toBe('met');
  expect(verdict({ ratio: { to: 'floor', spread: figure(1.2, 0.5, 1.3), atMost: 1.5 } })).toBe('unstable');
});

test('an unstable row fails a check only when a round breaks the limit', () => {
  expect(fails(rowOf({ ours: figure(8, 4, 9), limit: { atMost: 10 } }))).toBe(false);
  expect(fails(rowOf({ ours: figure(8, 4, 11), limit: { atMost: 10 } }))).toBe(true);
  expect(fails(rowOf({ ours: figure(0, 0, 1), limit: { atMost: 0 } }))).toBe(true);
  expect(fails(rowOf({ ours: figure(11), limit: { atMost: 10 } }))).toBe(true);
  expect(fails(rowOf({}))).toBe(false);
});

test("a goal's verdict is that of its worst row, and rows for information do not count", () => {
  const met = rowOf({ limit: { atMost: 10 } });
  const unstable = rowOf({ ours: figure(8, 4, 9), limit: { atMost: 10 } });
  const notMet = rowOf({ limit: { atMost: 9 } });
  expect(verdictOf([met, rowOf({})])).toBe('met');
  expect(verdictOf([met, unstable])).toBe('unstable');
  expect(verdictOf([notMet, unstable, met])).toBe('not met');
  expect(verdictOf([rowOf({})])).toBe('for information');
});
