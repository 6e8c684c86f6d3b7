import fc from 'fast-check';
import type { ErrorCode } from '../../src/core/errors.js';
import { type Content, idOf, RoundDriver } from './round-driver.js';

const NAMES = ['a', 'b', 'c'] as const;
const FAILURES: ErrorCode[] = ['TOOLSET_UNREACHABLE', 'LIST_MALFORMED', 'TOOLSET_UNAUTHORIZED', 'LIST_TIMEOUT'];

type Deed =
  | { readonly do: 'set'; readonly name: string; readonly content: Content; readonly notify: boolean; readonly takesMs: number }
  | { readonly do: 'signal'; readonly name: string; readonly trigger: 'notification' | 'reconnect' }
  | { readonly do: 'request'; readonly name: string | undefined }
  | { readonly do: 'wait'; readonly ms: number };

const name = fc.constantFrom(...NAMES);
const content: fc.Arbitrary<Content> = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom<Content>('v1', 'v2', 'v3', 'v4') },
  { weight: 1, arbitrary: fc.constant<Content>('EMPTY') },
  { weight: 3, arbitrary: fc.constantFrom(...FAILURES).map((fails) => ({ fails })) },
);
const deed: fc.Arbitrary<Deed> = fc.oneof(
  fc.record({
    do: fc.constant('set' as const),
    name,
    content,
    notify: fc.boolean(),
    takesMs: fc.constantFrom(1, 50, 300, 1_999, 2_500, 9_000),
  }),
  fc.record({ do: fc.constant('signal' as const), name, trigger: fc.constantFrom('notification' as const, 'reconnect' as const) }),
  fc.record({ do: fc.constant('request' as const), name: fc.option(name, { nil: undefined }) }),
  fc.record({ do: fc.constant('wait' as const), ms: fc.constantFrom(1, 60, 150, 1_000, 2_500, 15_000) }),
);

function play(driver: RoundDriver, deeds: readonly Deed[], afterEach: () => void): number {
  let requests = 0;
  for (const one of deeds) {
    switch (one.do) {
      case 'set': {
        const toolset = driver.toolsets.get(idOf(one.name));
        if (toolset) Object.assign(toolset, { content: one.content, takesMs: one.takesMs });
        if (one.notify) driver.notify(one.name);
        break;
      }
      case 'signal':
        driver.dispatch({ type: 'signal', id: idOf(one.name), trigger: one.trigger });
        break;
      case 'request':
        driver.dispatch({ type: 'request', request: ++requests, id: one.name === undefined ? undefined : idOf(one.name) });
        break;
      case 'wait':
        driver.run(one.ms);
        break;
    }
    afterEach();
  }
  return requests;
}

function fleet(pollMs: number): RoundDriver {
  const driver = new RoundDriver({ pollMs, pollingMs: pollMs });
  for (const one of NAMES) driver.add(one);
  driver.index();
  driver.run(1_000);
  for (const one of NAMES) driver.watch(one);
  return driver;
}

describe('laws of the rounds, for any interleaving of signals, answers and failures', () => {
  test('no failure makes what is held smaller, and only what was listed completely is ever live', () => {
    fc.assert(
      fc.property(fc.array(deed, { maxLength: 40 }), (deeds) => {
        const driver = fleet(0);
        const given = new Map<string, Set<string>>(NAMES.map((one) => [one, new Set(['v1'])]));
        const mayBeEmpty = new Set<string>();
        play(driver, deeds, () => {
          for (const { name: one, content: now } of driver.toolsets.values()) {
            if (now === 'EMPTY') mayBeEmpty.add(one);
            else if (typeof now === 'string') given.get(one)?.add(now);
          }
          for (const one of NAMES) {
            const live = driver.live[one];
            expect(live === '' ? mayBeEmpty.has(one) : given.get(one)?.has(live ?? 'nothing')).toBe(true);
          }
        });
      }),
      { numRuns: 150 },
    );
  });

  test('at most one list of a toolset is in flight, and a round that changes nothing swaps nothing', () => {
    fc.assert(
      fc.property(fc.array(deed, { maxLength: 40 }), (deeds) => {
        const driver = fleet(30_000);
        play(driver, deeds, () => undefined);
        driver.run(60_000);
        expect(driver.mostInFlightPerToolset).toBeLessThanOrEqual(1);
        for (const { outcome, before, after } of driver.rounds) {
          if (outcome === 'swapped') expect(after?.fingerprint).not.toBe(before?.fingerprint);
          else expect(after).toBe(before);
        }
      }),
      { numRuns: 100 },
    );
  });

  test('when signals and failures end, what is held equals the toolsets after a bounded time, without any notification', () => {
    fc.assert(
      fc.property(fc.array(deed, { maxLength: 40 }), fc.constantFrom('v5', 'EMPTY'), (deeds, last) => {
        const driver = fleet(30_000);
        play(driver, deeds, () => undefined);
        for (const toolset of driver.toolsets.values()) Object.assign(toolset, { content: last, takesMs: 5 });
        driver.run(9_000 + 66_000 + 66_000);
        const held = last === 'EMPTY' ? '' : last;
        expect(driver.live).toEqual({ a: held, b: held, c: held });
      }),
      { numRuns: 100 },
    );
  });

  test('every request is answered, by exactly one round', () => {
    fc.assert(
      fc.property(fc.array(deed, { maxLength: 40 }), (deeds) => {
        const driver = fleet(0);
        const requests = play(driver, deeds, () => undefined);
        driver.run(15_000);
        const answered = driver.rounds.flatMap(({ requests: of }) => of).sort((a, b) => a - b);
        expect(answered).toEqual(Array.from({ length: requests }, (_, n) => n + 1));
      }),
      { numRuns: 100 },
    );
  });
});
