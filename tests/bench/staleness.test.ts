import { greatestAge } from '../../bench/harness/staleness.js';

const changes = [
  { revision: 1, changedAt: 1_000 },
  { revision: 2, changedAt: 1_100 },
  { revision: 3, changedAt: 1_200 },
];
const served = (revision: number, at: number) => ({ toolset: 't0', revision, at });

test('the greatest age is that of the change that waited longest', () => {
  const seen = [served(1, 1_010), served(3, 1_250)];
  expect(greatestAge(changes, { served: seen, untilAt: 2_000 })).toBe(150);
});

test('a later revision serves the earlier ones too, whatever the order of the reports', () => {
  const seen = [served(3, 1_300), served(2, 1_260)];
  expect(greatestAge(changes, { served: seen, untilAt: 2_000 })).toBe(260);
});

test('a change that is never served is as old as the observation', () => {
  expect(greatestAge(changes, { served: [served(2, 1_110)], untilAt: 3_000 })).toBe(1_800);
});

test('without changes nothing grows old', () => {
  expect(greatestAge([], { served: [], untilAt: 3_000 })).toBe(0);
});
