import { CodedError } from '../../src/core/errors.js';
import { afterFailedRead, afterGoodRead, type IndexWatch, NO_INDEX, nextReadMs } from '../../src/core/index-watch.js';

const named = (...names: string[]) => new Map(names.map((name) => [name, `${name} url`]));
const knownAfter = (reads: readonly [number, string[]][]): { watch: IndexWatch; warnings: number } => {
  let watch = NO_INDEX;
  let warnings = 0;
  for (const [at, names] of reads) {
    const after = afterGoodRead(watch, named(...names), at);
    watch = after.watch;
    warnings += after.massVanish ? 1 : 0;
  }
  return { watch, warnings };
};

describe('what is held of the index (3.12)', () => {
  test.each<[string, [number, string[]][], string[]]>([
    [
      'an addition counts at once',
      [
        [0, ['a']],
        [1, ['a', 'b']],
      ],
      ['a', 'b'],
    ],
    [
      'one read without a toolset removes nothing',
      [
        [0, ['a', 'b', 'c']],
        [1, ['a', 'b']],
      ],
      ['a', 'b', 'c'],
    ],
    [
      'a second read within a second does not count',
      [
        [0, ['a', 'b', 'c']],
        [1, ['a', 'b']],
        [900, ['a', 'b']],
      ],
      ['a', 'b', 'c'],
    ],
    [
      'a second read a second later does',
      [
        [0, ['a', 'b', 'c']],
        [1, ['a', 'b']],
        [1_001, ['a', 'b']],
      ],
      ['a', 'b'],
    ],
    [
      'a toolset that is back is not missing any more',
      [
        [0, ['a', 'b', 'c']],
        [1, ['a', 'b']],
        [500, ['a', 'b', 'c']],
        [1_400, ['a', 'b']],
      ],
      ['a', 'b', 'c'],
    ],
    [
      'more than half: two reads are not enough',
      [
        [0, ['a', 'b', 'c']],
        [1, ['a']],
        [61_000, ['a']],
      ],
      ['a', 'b', 'c'],
    ],
    [
      'more than half: three reads within a minute are not enough',
      [
        [0, ['a', 'b', 'c']],
        [1, ['a']],
        [30_000, ['a']],
        [59_000, ['a']],
      ],
      ['a', 'b', 'c'],
    ],
    [
      'more than half of those that were not missing yet takes a minute, too',
      [
        [0, ['a', 'b', 'c', 'd', 'e']],
        [1, ['a', 'b', 'c', 'd']],
        [500, ['a']],
        [5_000, ['a']],
        [9_000, ['a']],
      ],
      ['a', 'b', 'c', 'd'],
    ],
    [
      'more than half: three reads over a minute are',
      [
        [0, ['a', 'b', 'c']],
        [1, ['a']],
        [30_000, ['a']],
        [60_001, ['a']],
      ],
      ['a'],
    ],
  ])('%s', (_, reads, expected) => {
    expect([...knownAfter(reads).watch.known.keys()].sort()).toEqual(expected);
  });

  test('the read in which more than half vanish warns, once', () => {
    expect(
      knownAfter([
        [0, ['a', 'b', 'c']],
        [1, ['a']],
        [30_000, ['a']],
      ]).warnings,
    ).toBe(1);
  });

  test('a failed read changes nothing that is held', () => {
    const { watch } = knownAfter([[0, ['a', 'b']]]);
    expect(afterFailedRead(watch, 5).known).toBe(watch.known);
  });
});

describe('when the index is read again', () => {
  const ask = { now: 0, everyMs: 60_000, error: null, chance: 0.5 };
  test('at the ordinary interval', () => {
    expect(nextReadMs(knownAfter([[0, ['a']]]).watch, ask)).toBe(60_000);
  });
  test('only on request when the interval is 0', () => {
    expect(nextReadMs(knownAfter([[0, ['a']]]).watch, { ...ask, everyMs: 0 })).toBeUndefined();
  });
  test('a second after a toolset went missing, also when it is otherwise read on request only', () => {
    const { watch } = knownAfter([
      [0, ['a', 'b', 'c']],
      [1, ['a', 'b']],
    ]);
    expect(nextReadMs(watch, { ...ask, now: 1, everyMs: 0 })).toBe(1_000);
  });
  test('soon after it could not be reached', () => {
    const watch = afterFailedRead(NO_INDEX, 0);
    expect(nextReadMs(watch, { ...ask, error: new CodedError('INDEX_UNREACHABLE', 'x') })).toBe(750);
  });
});
