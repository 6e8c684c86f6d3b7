import fc from 'fast-check';
import { rebuildDelayMs, retryDelayMs } from '../../src/core/backoff.js';

const ask = { failures: 1, failingForMs: 0, chance: 0 } as const;

test.each([
  ['soon', 1, 0, 500, 1_000],
  ['soon', 100, 119_999, 500, 1_000],
  ['soon', 150, 145_000, 3_200, 4_000],
  ['soon', 500, 3_600_000, 48_000, 60_000],
  ['later', 1, 0, 1_600, 2_000],
  ['later', 2, 2_000, 3_200, 4_000],
  ['later', 40, 900_000, 48_000, 60_000],
  ['rarely', 1, 0, 48_000, 60_000],
] as const)(
  'a toolset that is asked again %s, after %i failures over %i ms, waits %i to %i ms (3.6)',
  (patience, failures, failingForMs, least, most) => {
    expect(retryDelayMs({ patience, failures, failingForMs, chance: 0 })).toBeCloseTo(least, 5);
    expect(retryDelayMs({ patience, failures, failingForMs, chance: 1 })).toBeCloseTo(most, 5);
  },
);

test('Retry-After lengthens a delay and never shortens it', () => {
  expect(retryDelayMs({ ...ask, patience: 'soon', retryAfterMs: 90_000 })).toBe(90_000);
  expect(retryDelayMs({ ...ask, patience: 'rarely', retryAfterMs: 10 })).toBe(48_000);
});

test('no number of failures makes a delay that is not finite, is shorter than half a second or longer than a minute', () => {
  fc.assert(
    fc.property(
      fc.constantFrom('soon', 'later', 'rarely'),
      fc.nat(),
      fc.nat(),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (patience, failures, failingForMs, chance) => {
        const delay = retryDelayMs({ patience: patience as 'soon', failures: failures + 1, failingForMs, chance });
        expect(delay).toBeGreaterThanOrEqual(500);
        expect(delay).toBeLessThanOrEqual(60_000);
      },
    ),
  );
});

test('a rejected build is tried again after 1, 5 and 30 s, then at polls only (3.7)', () => {
  expect([1, 2, 3, 4].map(rebuildDelayMs)).toEqual([1_000, 5_000, 30_000, undefined]);
});
