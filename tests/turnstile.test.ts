import { setImmediate as nextTurn } from 'node:timers/promises';
import { Turnstile } from '../src/turnstile.js';

test('those who wait go on in the order in which they came, one for each turn of the event loop', async () => {
  const turnstile = new Turnstile();
  const passed: number[] = [];
  for (const number of [1, 2, 3]) void turnstile.pass().then(() => passed.push(number));
  await Promise.resolve();
  expect(passed).toEqual([]);
  const seen: number[] = [];
  while (passed.length < 3) {
    await nextTurn();
    seen.push(passed.length);
  }
  expect(passed).toEqual([1, 2, 3]);
  // Somebody else's turn came between any two of them.
  expect(seen).toEqual([1, 2, 3]);
});

test('who comes again while others wait goes on after them', async () => {
  const turnstile = new Turnstile();
  const passed: string[] = [];
  const walk = async (name: string) => {
    for (let step = 0; step < 3; step++) {
      await turnstile.pass();
      passed.push(name);
    }
  };
  await Promise.all([walk('a'), walk('b')]);
  expect(passed).toEqual(['a', 'b', 'a', 'b', 'a', 'b']);
  // It works as well when nobody had been waiting for a while.
  await turnstile.pass();
});
