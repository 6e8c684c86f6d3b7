import { onCleanup } from '../support/cleanup.js';
import { ManualClock } from '../support/manual-clock.js';
import { until } from '../support/until.js';

describe('the manual clock', () => {
  test('runs due timers in order, also those that are set while it runs', async () => {
    const clock = new ManualClock();
    const seen: string[] = [];
    clock.after(20, () => seen.push(`b at ${clock.now()}`));
    clock.after(10, () => {
      seen.push(`a at ${clock.now()}`);
      clock.after(5, () => seen.push(`nested at ${clock.now()}`));
    });
    clock.after(20, () => seen.push('c, set later for the same instant'));
    clock.after(21, () => seen.push('too late'));
    await clock.advance(20);
    expect(seen).toEqual(['a at 10', 'nested at 15', 'b at 20', 'c, set later for the same instant']);
    expect(clock.pending).toBe(1);
    expect(clock.nextInMs).toBe(1);
  });

  test('lets promises settle between two timers', async () => {
    const clock = new ManualClock();
    const seen: string[] = [];
    clock.after(1, async () => {
      await Promise.resolve();
      await Promise.resolve();
      seen.push('continued after timer 1');
    });
    clock.after(2, () => seen.push('timer 2'));
    await clock.advance(2);
    expect(seen).toEqual(['continued after timer 1', 'timer 2']);
  });

  test('does not run a timer that was cancelled', async () => {
    const clock = new ManualClock();
    let ran = false;
    clock.after(1, () => {
      ran = true;
    })();
    await clock.advance(10);
    expect(ran).toBe(false);
    expect(clock.date().getTime() - new ManualClock().date().getTime()).toBe(10);
  });

  test('gives the same random numbers for the same seed', () => {
    const draw = (seed: number) =>
      Array.from(
        { length: 5 },
        (
          (clock) => () =>
            clock.random()
        )(new ManualClock({ seed })),
      );
    expect(draw(7)).toEqual(draw(7));
    expect(draw(7)).not.toEqual(draw(8));
    expect(draw(7).every((value) => value >= 0 && value < 1)).toBe(true);
  });
});

test('until returns the first truthy answer and takes a throwing check for "not yet"', async () => {
  let asked = 0;
  const answer = await until(() => {
    asked++;
    if (asked === 1) throw new Error('not yet');
    return asked > 2 && `asked ${asked} times`;
  });
  expect(answer).toBe('asked 3 times');
});

test('until says what it waited for', async () => {
  await expect(until(() => 0, { timeoutMs: 20, what: 'a number above zero' })).rejects.toThrow(
    'Waited 20 ms for a number above zero; the last answer was 0',
  );
});

describe('onCleanup', () => {
  const order: string[] = [];
  test('is called in a first test', () => {
    onCleanup(() => order.push('first'));
    onCleanup(() => order.push('second'));
    expect(order).toEqual([]);
  });
  test('and has run newest first before the next test', () => {
    expect(order).toEqual(['second', 'first']);
  });
});
