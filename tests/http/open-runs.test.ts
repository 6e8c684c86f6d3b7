import { OpenRuns, RunEnded } from '../../src/http/open-runs.js';
import { ManualClock } from '../support/manual-clock.js';

function admitted(openRuns: OpenRuns) {
  const admission = openRuns.admit();
  if (admission.kind !== 'admitted') throw new Error(`not admitted: ${admission.kind}`);
  return admission.run;
}

test('there are never more runs than allowed, and closing twice frees one place only', () => {
  const openRuns = new OpenRuns({ clock: new ManualClock(), maxRuns: 2 });
  const first = admitted(openRuns);
  admitted(openRuns);
  expect(openRuns.admit().kind).toBe('full');
  first.close();
  first.close();
  admitted(openRuns);
  expect(openRuns.admit().kind).toBe('full');
});

test('draining waits for the runs, ends them at the deadline, and gives up two seconds later', async () => {
  const clock = new ManualClock();
  const openRuns = new OpenRuns({ clock });
  const run = admitted(openRuns);
  openRuns.beginDrain();
  expect(openRuns.admit().kind).toBe('draining');
  let isIdle = false;
  void openRuns.idle(25_000).then(() => {
    isIdle = true;
  });
  await clock.advance(24_999);
  expect(run.signal.aborted).toBe(false);
  await clock.advance(1);
  expect(run.signal.reason).toBeInstanceOf(RunEnded);
  expect(run.signal.reason).toMatchObject({ code: 'shutting_down' });
  expect(isIdle).toBe(false);
  await clock.advance(2000);
  expect(isIdle).toBe(true);
});

test('draining is over as soon as the last run is closed, and leaves no timer', async () => {
  const clock = new ManualClock();
  const openRuns = new OpenRuns({ clock });
  const runs = [admitted(openRuns), admitted(openRuns)];
  const idle = openRuns.idle(25_000);
  for (const run of runs) run.close();
  await idle;
  expect(clock.pending).toBe(0);
  await openRuns.idle(25_000);
});
