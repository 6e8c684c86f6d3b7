import type { ReviewPolicy } from '../../src/core/review.js';
import { idOf, RoundDriver, snapshotOf } from './round-driver.js';

const REVIEW_A: ReviewPolicy = { toolsets: ['a'], first: 'trust' };

/** Toolsets a and b, live with 'v1'; changes of a are reviewed. */
function started(review: ReviewPolicy = REVIEW_A): RoundDriver {
  const driver = new RoundDriver({ review });
  driver.add('a');
  driver.add('b');
  driver.index();
  driver.run(1_000);
  driver.watch('a');
  driver.watch('b');
  driver.rounds.length = 0;
  driver.effects.length = 0;
  return driver;
}

function set(driver: RoundDriver, name: string, content: string): void {
  const toolset = driver.toolsets.get(idOf(name));
  if (toolset === undefined) throw new Error(`no toolset ${name}`);
  toolset.content = content;
  driver.notify(name);
  driver.run(5_000);
}

let requests = 0;
function decide(driver: RoundDriver, decision: 'approved' | 'rejected', content: string): number {
  requests += 1;
  const { fingerprint } = snapshotOf('a', content);
  driver.dispatch({ type: 'decided', toolset: 'a', fingerprint, decision, trigger: 'review', request: requests });
  driver.run(5_000);
  return requests;
}

const waiting = (driver: RoundDriver) => driver.state.toolsets.get(idOf('a'))?.waiting;

describe('a change of a toolset under review (15.1)', () => {
  test('is held, tells so once, and the live agent stays', () => {
    const driver = started();
    set(driver, 'a', 'v2');
    expect(driver.outcomes).toEqual(['held by notification']);
    expect(driver.live).toEqual({ a: 'v1', b: 'v1' });
    driver.notify('a');
    driver.run(5_000);
    expect(driver.effectsOf('held')).toEqual([
      expect.objectContaining({ reason: 'review', id: idOf('a'), fingerprint: snapshotOf('a', 'v2').fingerprint }),
    ]);
  });

  test('goes live when it is approved, and the round answers the request', () => {
    const driver = started();
    set(driver, 'a', 'v2');
    const request = decide(driver, 'approved', 'v2');
    expect(driver.outcomes).toEqual(['held by notification', 'swapped by review']);
    expect(driver.rounds[1]?.requests).toEqual([request]);
    expect(driver.rounds[1]?.unheard).toEqual(['a']);
    expect(driver.live).toEqual({ a: 'v2', b: 'v1' });
    expect(waiting(driver)).toBeNull();
  });

  test('is not held again after it was rejected; the live agent stays', () => {
    const driver = started();
    set(driver, 'a', 'v2');
    const request = decide(driver, 'rejected', 'v2');
    expect(driver.rounds.at(-1)).toMatchObject({ outcome: 'unchanged', trigger: 'review', requests: [request] });
    driver.notify('a');
    driver.run(5_000);
    expect(waiting(driver)).toBeNull();
    expect(driver.outcomes.filter((outcome) => outcome.startsWith('held'))).toHaveLength(1);
    expect(driver.live.a).toBe('v1');
  });

  test('is replaced by a newer one, so that an approval of the older one lets nothing through', () => {
    const driver = started();
    set(driver, 'a', 'v2');
    set(driver, 'a', 'v3');
    expect(waiting(driver)?.snapshot.fingerprint).toBe(snapshotOf('a', 'v3').fingerprint);
    decide(driver, 'approved', 'v2');
    expect(driver.live.a).toBe('v1');
    expect(waiting(driver)?.snapshot.fingerprint).toBe(snapshotOf('a', 'v3').fingerprint);
  });

  test('is cleared by a list that is as the live one', () => {
    const driver = started();
    set(driver, 'a', 'v2');
    set(driver, 'a', 'v1');
    expect(waiting(driver)).toBeNull();
    expect(driver.live.a).toBe('v1');
  });

  test('lets the changes of other toolsets go on', () => {
    const driver = started();
    set(driver, 'a', 'v2');
    set(driver, 'b', 'v2');
    expect(driver.live).toEqual({ a: 'v1', b: 'v2' });
    expect(waiting(driver)?.reason).toBe('review');
  });

  test('that only takes tools away needs no approval', () => {
    const driver = started();
    set(driver, 'a', 'EMPTY');
    driver.run(60_000);
    expect(driver.live.a).toBe('');
    expect(driver.effectsOf('held').map(({ reason }) => reason)).not.toContain('review');
  });

  test('that waits for days counts no missed signal at every poll', () => {
    const driver = new RoundDriver({ review: REVIEW_A, pollMs: 10_000, pollingMs: 10_000 });
    driver.add('a');
    driver.index();
    driver.run(1_000);
    driver.watch('a');
    const toolset = driver.toolsets.get(idOf('a'));
    if (toolset) toolset.content = 'v2';
    driver.run(100_000);
    expect(waiting(driver)?.reason).toBe('review');
    expect(driver.effectsOf('missed')).toHaveLength(1);
  });

  test('that is approved while a list is in flight is judged with that list', () => {
    const driver = started();
    set(driver, 'a', 'v2');
    const toolset = driver.toolsets.get(idOf('a'));
    if (toolset) toolset.takesMs = 500;
    driver.notify('a');
    driver.run(200);
    decide(driver, 'approved', 'v2');
    expect(driver.live.a).toBe('v2');
  });

  test('needs no swap token once it is approved', () => {
    const driver = started();
    for (let version = 0; version < 30; version += 1) {
      set(driver, 'a', `w${version}`);
      decide(driver, 'approved', `w${version}`);
    }
    expect(driver.live.a).toBe('w29');
  });
});

describe('the first list (15.2)', () => {
  test('is held, with an agent without its tools, unless the first one is trusted', () => {
    const driver = new RoundDriver({ review: { toolsets: '*', first: 'hold' } });
    driver.add('a');
    driver.index();
    driver.run(5_000);
    expect(driver.outcomes).toEqual(['swapped by start']);
    expect(driver.rounds[0]?.held).toEqual(['a']);
    expect(driver.live).toEqual({});
    decide(driver, 'approved', 'v1');
    expect(driver.live).toEqual({ a: 'v1' });
  });

  test('is compared with what was approved last, which is served until somebody decides', () => {
    const driver = new RoundDriver({ review: { toolsets: ['a'], first: 'trust' } });
    driver.add('a', 'v2', { url: 'http://moved' });
    driver.dispatch({ type: 'approved', snapshot: snapshotOf('a', 'v1') });
    driver.index();
    driver.run(5_000);
    expect(driver.live).toEqual({ a: 'v1' });
    expect(driver.state.live?.snapshots[0]).toMatchObject({ id: idOf('a', 'http://moved'), url: 'http://moved' });
    expect(driver.state.toolsets.get(idOf('a', 'http://moved'))?.waiting?.reason).toBe('review');
    decide(driver, 'approved', 'v2');
    expect(driver.live).toEqual({ a: 'v2' });
  });

  test('that was approved before goes live at once', () => {
    const driver = new RoundDriver({ review: { toolsets: ['a'], first: 'hold' } });
    driver.add('a', 'v2');
    const { fingerprint } = snapshotOf('a', 'v2');
    driver.dispatch({ type: 'decided', toolset: 'a', fingerprint, decision: 'approved', trigger: 'replica', request: null });
    driver.index();
    driver.run(5_000);
    expect(driver.live).toEqual({ a: 'v2' });
  });
});
