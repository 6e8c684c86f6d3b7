import { isStable, median, quantile, ratios, slope, spreadOf } from '../../bench/harness/statistics.js';

test('a quantile lies between two values in proportion, and the order of the values does not matter', () => {
  expect(quantile([30, 10, 20, 40], 0)).toBe(10);
  expect(quantile([30, 10, 20, 40], 1)).toBe(40);
  expect(quantile([30, 10, 20, 40], 0.5)).toBe(25);
  expect(quantile([0, 100], 0.99)).toBeCloseTo(99);
  expect(median([5, 1, 9])).toBe(5);
  expect(quantile([], 0.5)).toBeNaN();
});

test('a spread is the median of the rounds, with the least, the greatest and their number', () => {
  expect(spreadOf([4, 2, 9])).toEqual({ median: 4, min: 2, max: 9, rounds: 3 });
});

test('rounds are stable when the greatest is at most twice the least, or when all lie in the noise', () => {
  expect(isStable(spreadOf([10, 20]))).toBe(true);
  expect(isStable(spreadOf([10, 20.1]))).toBe(false);
  expect(isStable(spreadOf([0.1, 1.9]), 1)).toBe(true);
  expect(isStable(spreadOf([0, 0]))).toBe(true);
});

test('ratios are those of the same round, and a round without a counterpart has none', () => {
  expect(ratios([10, 30, 50], [5, 10])).toEqual([2, 3]);
});

test('the slope of points on a line is that of the line, and noise to both sides does not change it', () => {
  expect(slope([0, 1, 2, 3].map((x) => [x, 5 + 2 * x]))).toBeCloseTo(2);
  expect(slope([0, 1, 2, 3, 4].map((x) => [x, 7 + (x % 2 === 0 ? 1 : -1)]))).toBeCloseTo(0);
});
