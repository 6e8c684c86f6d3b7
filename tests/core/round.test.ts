import { idOf, RoundDriver } from './round-driver.js';

/** Two toolsets, both live in generation 1. */
function started(settings = {}, ...names: string[]): RoundDriver {
  const driver = new RoundDriver(settings);
  for (const name of names.length === 0 ? ['a', 'b'] : names) driver.add(name);
  driver.index();
  driver.run(1_000);
  for (const { name } of driver.toolsets.values()) driver.watch(name);
  expect(driver.outcomes).toEqual(['swapped by start']);
  driver.rounds.length = 0;
  driver.effects.length = 0;
  for (const toolset of driver.toolsets.values()) {
    toolset.lists = 0;
    toolset.listedAt.length = 0;
  }
  return driver;
}

function toolset(driver: RoundDriver, name: string) {
  const found = driver.toolsets.get(idOf(name));
  if (found === undefined) throw new Error(`no toolset ${name}`);
  return found;
}

describe('when a round opens (3.2)', () => {
  test('a burst over several toolsets is one round, a debounce after the last signal', () => {
    const driver = started();
    toolset(driver, 'a').content = 'v2';
    toolset(driver, 'b').content = 'v2';
    for (const delay of [0, 20, 40, 60]) driver.at(delay, () => driver.notify(delay % 40 === 0 ? 'a' : 'b'));
    driver.run(900);
    expect(driver.outcomes).toEqual(['swapped by notification']);
    expect(driver.rounds[0]?.swapped).toEqual(['a', 'b']);
    expect(driver.rounds[0]?.openedAt).toBe(1_000 + 160);
  });

  test('a steady stream of signals delays a round by ten debounces at the most', () => {
    const driver = started();
    for (let delay = 0; delay < 3_000; delay += 50) {
      driver.at(delay, () => {
        toolset(driver, 'a').content = `v${delay}`;
        driver.notify('a');
      });
    }
    driver.run(3_500);
    expect(driver.rounds.map(({ outcome }) => outcome)).not.toContain('aborted');
    const opened = driver.rounds.map(({ openedAt }) => openedAt - 1_000);
    expect(opened[0]).toBe(1_000);
    expect(opened.length).toBeGreaterThanOrEqual(3);
    expect(driver.live.a).toBe('v2950');
  });

  test('a debounce of 0 opens the round at once', () => {
    const driver = started({ debounceMs: 0 });
    toolset(driver, 'a').content = 'v2';
    driver.notify('a');
    driver.run(50);
    expect(driver.rounds[0]).toMatchObject({ outcome: 'swapped', openedAt: 1_000 });
  });

  test('only the toolsets that are due are listed', () => {
    const driver = started();
    driver.notify('a');
    driver.run(500);
    expect([toolset(driver, 'a').lists, toolset(driver, 'b').lists]).toEqual([1, 0]);
  });

  test('a round takes over the snapshots of all toolsets that it did not list, so that it hashes only what it listed (5.3)', () => {
    const driver = started();
    const of = (name: string) => driver.state.live?.snapshots.find((snapshot) => snapshot.toolset === name);
    const before = { a: of('a'), b: of('b') };
    toolset(driver, 'a').content = 'v2';
    driver.notify('a');
    driver.run(500);
    expect(of('a')).not.toBe(before.a);
    expect(before.b).toBeDefined();
    expect(of('b')).toBe(before.b);
  });

  test('a change that is taken back within one debounce is silence', () => {
    const driver = started();
    toolset(driver, 'a').content = 'v2';
    driver.notify('a');
    driver.at(50, () => {
      toolset(driver, 'a').content = 'v1';
      driver.notify('a');
    });
    driver.run(500);
    expect(driver.outcomes).toEqual(['unchanged by notification']);
    expect(driver.builds).toBe(1);
  });
});

describe('signals during a round (3.4)', () => {
  test('a signal that lands during a list causes another list', () => {
    const driver = started();
    toolset(driver, 'a').takesMs = 300;
    driver.notify('a');
    driver.at(200, () => {
      toolset(driver, 'a').content = 'v2';
      driver.notify('a');
    });
    driver.run(2_000);
    expect(driver.outcomes).toEqual(['unchanged by notification', 'swapped by notification']);
    expect(driver.live.a).toBe('v2');
    expect(driver.mostInFlightPerToolset).toBe(1);
  });

  test('a slow list gives up its place after 2 s, leaves as late, and opens a round of its own', () => {
    const driver = started();
    Object.assign(toolset(driver, 'a'), { takesMs: 5_000, content: 'v2' });
    toolset(driver, 'b').content = 'v2';
    driver.notify('a');
    driver.notify('b');
    driver.run(3_000);
    expect(driver.rounds).toMatchObject([{ outcome: 'swapped', swapped: ['b'], late: ['a'], listed: ['b'], at: 1_000 + 100 + 2_000 }]);
    expect(driver.effectsOf('leave-place')).toHaveLength(1);
    driver.run(5_000);
    expect(driver.outcomes).toEqual(['swapped by notification', 'swapped by notification']);
    expect(driver.live).toEqual({ a: 'v2', b: 'v2' });
  });

  test('a toolset whose lists are slow is not starved by steady notifications', () => {
    const driver = started();
    const a = toolset(driver, 'a');
    a.takesMs = 3_500;
    const change = () => {
      a.content = `v${driver.now}`;
      driver.notify('a');
      driver.at(200, change);
    };
    change();
    driver.run(20_000);
    const swaps = driver.rounds.filter(({ swapped }) => swapped.includes('a'));
    expect(swaps.length).toBeGreaterThanOrEqual(4);
    expect(driver.now - Number(driver.live.a?.slice(1))).toBeLessThan(8_500);
  });

  test('a late list that fails is an aborted round of its own', () => {
    const driver = started();
    Object.assign(toolset(driver, 'a'), { takesMs: 5_000, content: { fails: 'LIST_TIMEOUT' } });
    driver.notify('a');
    driver.run(5_200);
    expect(driver.rounds).toMatchObject([
      { outcome: 'unchanged', late: ['a'] },
      { outcome: 'aborted', failing: ['a'] },
    ]);
    expect(driver.live.a).toBe('v1');
  });
});

describe('aborted rounds (3.6)', () => {
  test('a failed list aborts, and the other toolset is served by the next round at once, without asking again', () => {
    const driver = started();
    toolset(driver, 'a').content = { fails: 'LIST_MALFORMED' };
    toolset(driver, 'b').content = 'v2';
    driver.notify('a');
    driver.notify('b');
    driver.run(200);
    expect(driver.outcomes).toEqual(['aborted by notification', 'swapped by notification']);
    expect(driver.rounds[0]).toMatchObject({ failing: ['a'], listed: ['b'] });
    expect(driver.rounds[1]?.at).toBe(driver.rounds[0]?.at);
    expect(toolset(driver, 'b').lists).toBe(1);
    expect(driver.live).toEqual({ a: 'v1', b: 'v2' });
  });

  test('a failing toolset is asked outside of the rounds and cannot hide the changes of another', () => {
    const driver = started();
    toolset(driver, 'a').content = { fails: 'TOOLSET_UNREACHABLE' };
    driver.notify('a');
    driver.run(60_000);
    expect(driver.outcomes).toEqual(['aborted by notification']);
    toolset(driver, 'b').content = 'v2';
    driver.notify('b');
    driver.run(500);
    expect(driver.outcomes.slice(1)).toEqual(['swapped by notification']);
    toolset(driver, 'a').content = 'v3';
    const back = driver.now;
    driver.run(2_000);
    expect(driver.outcomes.slice(2)).toEqual(['swapped by reconnect']);
    expect((driver.rounds[2]?.at ?? 0) - back).toBeLessThanOrEqual(1_000 + 100 + 10);
  });

  test.each([
    ['TOOLSET_UNREACHABLE', 80, 240],
    ['LIST_MALFORMED', 6, 9],
    ['TOOLSET_UNAUTHORIZED', 2, 4],
  ] as const)('a toolset that fails with %s is asked between %i and %i times in two minutes', (code, least, most) => {
    const driver = started();
    toolset(driver, 'a').content = { fails: code };
    driver.notify('a');
    driver.run(120_000);
    expect(toolset(driver, 'a').lists).toBeGreaterThanOrEqual(least);
    expect(toolset(driver, 'a').lists).toBeLessThanOrEqual(most);
  });

  test('a notification brings the next try of a failing toolset forward', () => {
    const driver = started();
    toolset(driver, 'a').content = { fails: 'TOOLSET_UNAUTHORIZED' };
    driver.notify('a');
    driver.run(10_000);
    toolset(driver, 'a').content = 'v2';
    driver.notify('a');
    driver.run(500);
    expect(driver.live.a).toBe('v2');
  });

  test.each([
    ['for the first time', 1],
    ['once more', 2],
  ])('a notification during a list that then fails %s brings the next try forward as well', (_when, list) => {
    const driver = started();
    Object.assign(toolset(driver, 'a'), { content: { fails: 'TOOLSET_UNAUTHORIZED' }, takesMs: 500 });
    driver.notify('a');
    while (toolset(driver, 'a').lists < list) driver.run(100);
    driver.notify('a');
    driver.run(600);
    toolset(driver, 'a').content = 'v2';
    driver.run(3_000);
    expect(driver.live.a).toBe('v2');
  });

  test('a toolset that no longer declares tools is failing, not empty', () => {
    const driver = started();
    Object.assign(toolset(driver, 'a'), { content: 'EMPTY', declaresTools: false });
    driver.notify('a');
    driver.run(60_000);
    expect(driver.outcomes).toEqual(['aborted by notification']);
    expect(driver.live.a).toBe('v1');
  });
});

describe('rejected rounds (3.7)', () => {
  test('what cannot be built is tried again after 1, 5 and 30 s, then at polls only', () => {
    const driver = started({ pollMs: 100_000, pollingMs: 100_000 });
    driver.refuses = (descriptions) => descriptions.includes('bad');
    toolset(driver, 'a').content = 'bad';
    driver.notify('a');
    driver.run(38_000);
    expect(driver.rounds.filter(({ outcome }) => outcome === 'rejected')).toHaveLength(4);
    expect(driver.live.a).toBe('v1');
    driver.refuses = () => false;
    driver.run(110_000);
    expect(driver.live.a).toBe('bad');
  });

  test('one change that cannot be built does not block the others', () => {
    const driver = started();
    driver.refuses = (descriptions) => descriptions.includes('bad');
    toolset(driver, 'a').content = 'bad';
    toolset(driver, 'b').content = 'v2';
    driver.notify('a');
    driver.notify('b');
    driver.run(300);
    expect(driver.rounds[0]).toMatchObject({ outcome: 'swapped', swapped: ['b'], error: { code: 'BUILD_FAILED' } });
    expect(driver.live).toEqual({ a: 'v1', b: 'v2' });
    toolset(driver, 'b').content = 'v3';
    driver.notify('b');
    driver.run(300);
    expect(driver.live).toEqual({ a: 'v1', b: 'v3' });
    toolset(driver, 'a').content = 'good';
    driver.notify('a');
    driver.run(300);
    expect(driver.live).toEqual({ a: 'good', b: 'v3' });
  });

  test('a request tries a rejected change again', () => {
    const driver = started();
    driver.refuses = (descriptions) => descriptions.includes('bad');
    toolset(driver, 'a').content = 'bad';
    driver.notify('a');
    driver.run(50_000);
    driver.refuses = () => false;
    driver.notify('a');
    driver.run(900);
    expect(driver.live.a).toBe('v1');
    driver.dispatch({ type: 'request', request: 1, id: idOf('a') });
    driver.run(900);
    expect(driver.live.a).toBe('bad');
  });
});

describe('empty lists (3.8)', () => {
  test('an empty list counts only after it was empty again 2, 10 and 30 s later', () => {
    const driver = started();
    toolset(driver, 'a').content = 'EMPTY';
    driver.notify('a');
    driver.run(25_000);
    expect(driver.live.a).toBe('v1');
    expect(driver.rounds.every(({ outcome, held }) => outcome === 'held' && held.includes('a'))).toBe(true);
    driver.run(10_000);
    expect(driver.live.a).toBe('');
    const first = toolset(driver, 'a').listedAt[0] ?? 0;
    expect(toolset(driver, 'a').listedAt.map((at) => Math.round((at - first) / 1_000))).toEqual([0, 2, 10, 30]);
  });

  test('a list with tools ends it, and a failure starts it again', () => {
    const driver = started();
    const a = toolset(driver, 'a');
    a.content = 'EMPTY';
    driver.notify('a');
    driver.run(5_000);
    a.content = { fails: 'TOOLSET_UNREACHABLE' };
    driver.run(6_000);
    a.content = 'EMPTY';
    driver.run(25_000);
    expect(driver.live.a).toBe('v1');
    a.content = 'v2';
    driver.run(10_000);
    expect(driver.live.a).toBe('v2');
  });

  test('a toolset that never had tools may be empty', () => {
    const driver = new RoundDriver();
    driver.add('a', 'EMPTY');
    driver.index();
    driver.run(500);
    expect(driver.outcomes).toEqual(['swapped by start']);
    expect(driver.live).toEqual({ a: '' });
  });
});

describe('notifications without change (3.9)', () => {
  test('a notified list without change is followed by one more, a second later', () => {
    const driver = started();
    driver.notify('a');
    driver.at(400, () => {
      toolset(driver, 'a').content = 'v2';
    });
    driver.run(30_000);
    expect(driver.live.a).toBe('v2');
    expect(toolset(driver, 'a').lists).toBe(2);
    expect(driver.outcomes).toEqual(['unchanged by notification', 'swapped by notification']);
  });

  test('a toolset that notifies because it was listed is listed at most ten times a minute', () => {
    const driver = started();
    const a = toolset(driver, 'a');
    let seen = 0;
    const echo = () => {
      if (a.lists > seen) {
        seen = a.lists;
        driver.at(6, () => driver.notify('a'));
      }
      driver.at(1, echo);
    };
    driver.notify('a');
    driver.at(1, echo);
    driver.run(60_000);
    expect(a.lists).toBeLessThanOrEqual(10);
    a.content = 'v2';
    driver.run(11_000);
    expect(driver.live.a).toBe('v2');
  });
});

describe('flapping (3.10)', () => {
  test('after 20 swaps in a row a toolset gets six a minute, others are not slowed, and a request needs no token', () => {
    const driver = started({ debounceMs: 0 });
    let version = 0;
    const flap = () => {
      toolset(driver, 'a').content = `x${++version}`;
      driver.notify('a');
      driver.at(500, flap);
    };
    flap();
    driver.run(70_000);
    const swaps = driver.rounds.filter(({ outcome }) => outcome === 'swapped').length;
    expect(swaps).toBeGreaterThanOrEqual(25);
    expect(swaps).toBeLessThanOrEqual(28);
    expect(driver.rounds.some(({ outcome, held }) => outcome === 'held' && held.includes('a'))).toBe(true);
    toolset(driver, 'b').content = 'v2';
    driver.notify('b');
    driver.run(50);
    expect(driver.live.b).toBe('v2');
    driver.dispatch({ type: 'request', request: 1, id: idOf('a') });
    driver.run(50);
    expect(driver.live.a).toBe(toolset(driver, 'a').content);
  });

  test.each([
    { debounceMs: 100, oldest: 1_200 },
    { debounceMs: 0, oldest: 300 },
  ])('a change every 100 ms for 5 s is served before it is $oldest ms old, with a window of $debounceMs ms', ({ debounceMs, oldest }) => {
    const driver = started({ debounceMs });
    const madeAt = [driver.now];
    const a = toolset(driver, 'a');
    a.content = 'x0';
    driver.notify('a');
    driver.run(2_000);
    for (let version = 1; version <= 50; version += 1) {
      madeAt[version] = driver.now;
      a.content = `x${version}`;
      driver.notify('a');
      for (let ms = 0; ms < 100; ms += 10) {
        driver.run(10);
        const outdatedAt = madeAt[Number(driver.live.a?.slice(1)) + 1];
        if (outdatedAt !== undefined) expect(driver.now - outdatedAt).toBeLessThanOrEqual(oldest);
      }
    }
    driver.run(oldest);
    expect(driver.live.a).toBe('x50');
  });

  test('the newest list is used when the next token comes, without asking again', () => {
    const driver = started({ debounceMs: 0 });
    for (let version = 1; version <= 21; version++) {
      toolset(driver, 'a').content = `x${version}`;
      driver.notify('a');
      driver.run(300);
    }
    expect(driver.live.a).toBe('x20');
    const { lists } = toolset(driver, 'a');
    driver.run(11_000);
    expect(driver.live.a).toBe('x21');
    expect(toolset(driver, 'a').lists).toBe(lists);
  });

  test('while a list waits for a token, further notifications are listed every two seconds, so that a server that notifies because it was listed keeps nobody busy', () => {
    const driver = started({ debounceMs: 0 });
    const a = toolset(driver, 'a');
    let seen = a.lists;
    const echo = () => {
      if (a.lists > seen) {
        seen = a.lists;
        a.content = `x${seen}`;
        driver.at(6, () => driver.notify('a'));
      }
      driver.at(1, echo);
    };
    driver.notify('a');
    driver.at(1, echo);
    driver.run(6_500);
    expect(driver.rounds.at(-1)?.outcome).toBe('held');
    const before = a.lists;
    driver.run(60_000);
    expect(a.lists - before).toBeLessThanOrEqual(36);
    expect(a.lists - before).toBeGreaterThan(20);
  });
});

describe('polls (3.11) and missed signals (2.5)', () => {
  test('every toolset is listed within every interval, and the polls are spread over it', () => {
    const names = Array.from({ length: 20 }, (_, n) => `t${n}`);
    const driver = started({ pollMs: 60_000, pollingMs: 60_000 }, ...names);
    driver.run(240_000);
    for (const name of names) {
      const times = [1_000, ...toolset(driver, name).listedAt];
      const gaps = times.slice(1).map((at, n) => at - (times[n] ?? 0));
      expect(Math.max(...gaps)).toBeLessThanOrEqual(66_200);
      expect(times.length).toBeLessThanOrEqual(7);
    }
    const firsts = names.map((name) => toolset(driver, name).listedAt[0] ?? 0);
    expect(Math.max(...firsts) - Math.min(...firsts)).toBeGreaterThan(20_000);
    expect(driver.outcomes.every((outcome) => outcome === 'unchanged by poll')).toBe(true);
  });

  test('a toolset that cannot push is listed at the shorter interval', () => {
    const driver = started({ pollMs: 600_000, pollingMs: 10_000 });
    driver.watch('a', false);
    driver.run(60_000);
    expect(toolset(driver, 'a').lists).toBeGreaterThanOrEqual(5);
    expect(toolset(driver, 'b').lists).toBeLessThanOrEqual(1);
  });

  test('0 turns every poll off, and notifications still refresh', () => {
    const driver = started({ pollMs: 0, pollingMs: 0 });
    driver.watch('a', false);
    driver.run(10 * 86_400_000);
    expect([toolset(driver, 'a').lists, toolset(driver, 'b').lists]).toEqual([0, 0]);
    toolset(driver, 'b').content = 'v2';
    driver.notify('b');
    driver.run(1_000);
    expect(driver.live.b).toBe('v2');
  });

  test('a change that only the poll found counts as a missed signal, 2 s later', () => {
    const driver = started({ pollMs: 60_000, pollingMs: 60_000 });
    toolset(driver, 'a').content = 'v2';
    driver.run(70_000);
    expect(driver.live.a).toBe('v2');
    const missed = driver.effectsOf('missed');
    expect(missed.map(({ id }) => id)).toEqual([idOf('a')]);
    expect(driver.state.toolsets.get(idOf('a'))?.missedSignals).toBe(1);
  });

  test('a change that is announced within 2 s of the poll was not missed, and one of a toolset that cannot push neither', () => {
    const driver = started({ pollMs: 60_000, pollingMs: 60_000 });
    driver.watch('b', false);
    toolset(driver, 'a').content = 'v2';
    toolset(driver, 'b').content = 'v2';
    const tell = () => (driver.live.a === 'v2' ? driver.at(1_500, () => driver.notify('a')) : driver.at(10, tell));
    tell();
    driver.run(80_000);
    expect(driver.live).toEqual({ a: 'v2', b: 'v2' });
    expect(driver.effectsOf('missed')).toEqual([]);
  });
});

describe('the start (11.1)', () => {
  test('the first generation comes as soon as all have answered', () => {
    const driver = new RoundDriver();
    driver.add('a', 'v1', { takesMs: 300 });
    driver.add('b', 'v1', { takesMs: 700 });
    driver.index();
    driver.run(5_000);
    expect(driver.rounds).toMatchObject([{ outcome: 'swapped', trigger: 'start', at: 700, failing: [] }]);
  });

  test('of hundreds that answer one by one, those that arrive within a second share a generation; the last few wait for nobody', () => {
    const driver = new RoundDriver();
    for (let number = 0; number < 300; number += 1) driver.add(`t${number}`, 'v1', { takesMs: 100 + number * 30 });
    driver.index();
    driver.run(15_000);
    const swaps = driver.rounds.filter(({ outcome }) => outcome === 'swapped');
    expect(Object.keys(driver.live)).toHaveLength(300);
    expect(swaps.length).toBeLessThanOrEqual(20);
    // The last one answers after 9.07 s, and nothing holds it up.
    expect(swaps.at(-1)).toMatchObject({ swapped: ['t299'], at: 9_070 });
  });

  test('toolsets that fail from the start hold up nobody who arrives late', () => {
    const driver = new RoundDriver();
    driver.add('a', 'v1', { takesMs: 100 });
    for (let number = 0; number < 30; number += 1) driver.add(`down${number}`, { fails: 'TOOLSET_UNREACHABLE' }, { takesMs: 1_500 });
    driver.add('slow', 'v1', { takesMs: 6_000 });
    driver.index();
    driver.run(8_000);
    expect(driver.rounds.filter(({ outcome }) => outcome === 'swapped').at(-1)).toMatchObject({ swapped: ['slow'], at: 6_000 });
  });

  test('it waits 2 s for the others after the first one has answered; a late one joins when it answers', () => {
    const driver = new RoundDriver();
    driver.add('a', 'v1', { takesMs: 100 });
    driver.add('b', 'v1', { takesMs: 6_000 });
    driver.index();
    driver.run(10_000);
    expect(driver.rounds).toMatchObject([
      { outcome: 'swapped', at: 2_100, failing: ['b'], swapped: ['a'] },
      { outcome: 'swapped', at: 6_000, swapped: ['b'], trigger: 'start' },
    ]);
  });

  test('a toolset that is down at the start is retried and joins; nothing is aborted by it', () => {
    const driver = new RoundDriver();
    driver.add('a');
    driver.add('b', { fails: 'TOOLSET_UNREACHABLE' });
    driver.index();
    driver.run(30_000);
    expect(driver.outcomes).toEqual(['swapped by start']);
    const b = driver.toolsets.get(idOf('b'));
    if (b) b.content = 'v1';
    driver.run(1_200);
    expect(driver.live).toEqual({ a: 'v1', b: 'v1' });
  });

  test('toolsets that the index names while nothing has answered yet join the first round', () => {
    const driver = new RoundDriver();
    driver.add('server', { fails: 'TOOLSET_NOT_MCP' });
    driver.index();
    driver.run(1_000);
    driver.add('a');
    driver.index(idOf('a'));
    driver.run(1_000);
    expect(driver.live).toEqual({ a: 'v1' });
  });
});

describe('the index (3.12)', () => {
  test('an added toolset joins and a removed one leaves, each by one round', () => {
    const driver = started();
    driver.add('c');
    driver.index();
    driver.run(500);
    expect(driver.live).toEqual({ a: 'v1', b: 'v1', c: 'v1' });
    driver.index(idOf('a'), idOf('c'));
    driver.run(500);
    expect(driver.outcomes).toEqual(['swapped by index', 'swapped by index']);
    expect(driver.live).toEqual({ a: 'v1', c: 'v1' });
    expect(driver.effectsOf('dismissed').map(({ id }) => id)).toEqual([idOf('b')]);
  });

  test('a toolset that moved stays live and watched at its old URL until the new one has given a complete list', () => {
    const driver = started();
    const moved = driver.add('a', { fails: 'TOOLSET_UNREACHABLE' }, { url: 'http://elsewhere' });
    driver.index(idOf('a', 'http://elsewhere'), idOf('b'));
    driver.run(5_000);
    expect(driver.live.a).toBe('v1');
    toolset(driver, 'a').content = 'v2';
    driver.notify('a');
    driver.run(500);
    expect(driver.live.a).toBe('v2');
    moved.content = 'new place';
    driver.run(2_000);
    expect(driver.live.a).toBe('new place');
    expect(driver.effectsOf('dismissed').map(({ id }) => id)).toEqual([idOf('a')]);
  });

  test('an index that cannot be read is one aborted round', () => {
    const driver = started();
    driver.dispatch({ type: 'index-failed', error: new (class extends Error {})() as never });
    driver.run(500);
    expect(driver.outcomes).toEqual(['aborted by index']);
    expect(driver.live).toEqual({ a: 'v1', b: 'v1' });
  });
});

describe('requests (3.14)', () => {
  test('a request is answered by a round that opened after it, whatever the outcome', () => {
    const driver = started();
    driver.dispatch({ type: 'request', request: 1, id: idOf('a') });
    driver.run(300);
    expect(driver.rounds).toMatchObject([{ outcome: 'unchanged', trigger: 'manual', requests: [1], listed: ['a'] }]);
  });

  test('a failing toolset that is named is asked now, and its failure aborts that round', () => {
    const driver = started();
    toolset(driver, 'a').content = { fails: 'TOOLSET_UNAUTHORIZED' };
    driver.notify('a');
    driver.run(1_000);
    driver.dispatch({ type: 'request', request: 1, id: idOf('a') });
    driver.run(300);
    expect(driver.rounds.at(-1)).toMatchObject({ outcome: 'aborted', requests: [1], failing: ['a'] });
  });

  test('a request for a failing toolset whose retry is in flight waits for a list of its own', () => {
    const driver = started();
    const a = toolset(driver, 'a');
    Object.assign(a, { content: { fails: 'TOOLSET_UNREACHABLE' }, takesMs: 400 });
    driver.notify('a');
    driver.run(1_000);
    while (driver.state.toolsets.get(idOf('a'))?.work.doing !== 'listing') driver.run(20);
    const { lists } = a;
    driver.dispatch({ type: 'request', request: 1, id: idOf('a') });
    driver.run(150);
    a.content = 'v2';
    driver.run(2_000);
    expect(a.lists).toBe(lists + 1);
    expect(driver.rounds.at(-1)).toMatchObject({ outcome: 'swapped', requests: [1], swapped: ['a'] });
  });

  test.each(['one', 'all'])('a request for %s is not lost when a retry comes due before its round opens', (which) => {
    const driver = started();
    const a = toolset(driver, 'a');
    a.content = { fails: 'TOOLSET_UNREACHABLE' };
    driver.notify('a');
    driver.run(300);
    const { work } = driver.state.toolsets.get(idOf('a')) ?? {};
    const retryAt = work?.doing === 'retrying' ? work.at : Number.NaN;
    driver.run(retryAt - driver.now - 50);
    a.content = 'v2';
    driver.dispatch({ type: 'request', request: 1, id: which === 'one' ? idOf('a') : undefined });
    driver.run(300);
    expect(driver.rounds.find(({ requests }) => requests.includes(1))).toMatchObject({ outcome: 'swapped', swapped: ['a'] });
  });

  test('a request for all asks failing toolsets too, but their failure is nothing new', () => {
    const driver = started();
    toolset(driver, 'a').content = { fails: 'TOOLSET_UNAUTHORIZED' };
    driver.notify('a');
    driver.run(1_000);
    toolset(driver, 'b').content = 'v2';
    driver.dispatch({ type: 'request', request: 1, id: undefined });
    driver.run(300);
    expect(driver.rounds.at(-1)).toMatchObject({
      outcome: 'swapped',
      requests: [1],
      swapped: ['b'],
      failing: ['a'],
      error: { code: 'TOOLSET_UNAUTHORIZED' },
    });
    toolset(driver, 'a').content = 'v2';
    driver.dispatch({ type: 'request', request: 2, id: undefined });
    driver.run(300);
    expect(driver.rounds.at(-1)).toMatchObject({ outcome: 'swapped', requests: [2], swapped: ['a'], failing: [] });
  });

  test('a request during a hanging list is not held up by it', () => {
    const driver = started();
    toolset(driver, 'a').takesMs = 9_000;
    driver.notify('a');
    driver.run(500);
    driver.dispatch({ type: 'request', request: 1, id: idOf('a') });
    driver.run(3_000);
    expect(driver.rounds.at(-1)).toMatchObject({ requests: [1], late: ['a'] });
  });
});
