import type { RoundSettings } from '../../src/core/round-state.js';
import { idOf, RoundDriver } from './round-driver.js';

/** Two toolsets that are live, and which of the changed ones each swap since calls unheard of by other replicas (CONTRACT.md 16.3). */
function start(settings: Partial<RoundSettings> = {}) {
  const driver = new RoundDriver(settings);
  const kb = driver.add('kb');
  const web = driver.add('web');
  driver.index();
  driver.run(500);
  const swaps = driver.rounds.length;
  return {
    driver,
    kb,
    web,
    unheard: () => driver.rounds.slice(swaps).flatMap(({ outcome, unheard }) => (outcome === 'swapped' ? [unheard] : [])),
  };
}

test('the first generation is no news to anybody', () => {
  const { driver } = start();
  expect(driver.rounds.map(({ outcome, unheard }) => [outcome, unheard])).toEqual([['swapped', []]]);
});

test.each(['reconnect', 'request', 'poll'] as const)('what a %s found may be unheard of', (how) => {
  const { driver, kb, unheard } = start(how === 'poll' ? { pollMs: 2_000, pollingMs: 2_000 } : {});
  kb.content = 'v2';
  if (how === 'reconnect') driver.dispatch({ type: 'signal', id: idOf('kb'), trigger: 'reconnect' });
  if (how === 'request') driver.dispatch({ type: 'request', request: 1, id: undefined });
  driver.run(5_000);
  expect(unheard()).toEqual([['kb']]);
});

test.each(['notification', 'replica', 'index'] as const)(
  'what a signal of the kind %s found is heard by the others in its own way',
  (trigger) => {
    const { driver, kb, unheard } = start();
    kb.content = 'v2';
    driver.dispatch({ type: 'signal', id: idOf('kb'), trigger });
    driver.run(1_000);
    expect(unheard()).toEqual([[]]);
  },
);

test('in a round for several reasons, only the toolset that nothing announced is unheard of', () => {
  const { driver, kb, web, unheard } = start();
  kb.content = 'v2';
  web.content = 'v2';
  driver.notify('kb');
  driver.dispatch({ type: 'signal', id: idOf('web'), trigger: 'reconnect' });
  driver.run(1_000);
  expect(unheard()).toEqual([['web']]);
});

test('a change that was also announced while it was found is heard by all', () => {
  const { driver, kb, unheard } = start();
  kb.content = 'v2';
  driver.dispatch({ type: 'signal', id: idOf('kb'), trigger: 'reconnect' });
  driver.notify('kb');
  driver.run(1_000);
  expect(unheard()).toEqual([[]]);
});
