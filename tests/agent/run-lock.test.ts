import { LocalRunLocks } from '../../src/agent/run-lock.js';
import { ManualClock } from '../support/manual-clock.js';

test('a thread has one run at a time, and other threads are free', async () => {
  const locks = new LocalRunLocks(new ManualClock());
  const first = await locks.take('a');
  expect(await locks.take('a')).toBeUndefined();
  expect(await locks.take('b')).toBeDefined();
  first?.release();
  first?.release();
  expect(await locks.isHeld('a')).toBe(false);
  expect(await locks.take('a')).toBeDefined();
});

test('releasing late does not free the thread under its next run', async () => {
  const locks = new LocalRunLocks(new ManualClock());
  const first = await locks.take('a');
  first?.release();
  await locks.take('a');
  first?.release();
  expect(await locks.isHeld('a')).toBe(true);
});

test('a run that is being cancelled is waited for, at most two seconds', async () => {
  const clock = new ManualClock();
  const locks = new LocalRunLocks(clock);
  const first = await locks.take('a');
  first?.markCancelling();
  const answers: unknown[] = [];
  void locks.take('a').then((lock) => answers.push(lock));
  await clock.advance(1999);
  expect(answers).toEqual([]);
  await clock.advance(1);
  expect(answers).toEqual([undefined]);
});

test('of two that wait, one gets the thread when it is released, and the other is refused at once', async () => {
  const clock = new ManualClock();
  const locks = new LocalRunLocks(clock);
  const first = await locks.take('a');
  first?.markCancelling();
  const waiting = [locks.take('a'), locks.take('a')];
  first?.release();
  const taken = await Promise.all(waiting);
  expect(taken.filter((lock) => lock !== undefined)).toHaveLength(1);
  expect(clock.pending).toBe(0);
});
