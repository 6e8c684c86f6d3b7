import type { CodedError } from '../../src/core/errors.js';
import { Lister } from '../../src/refresh/lister.js';
import { systemClock } from '../../src/system-clock.js';
import { watchedSession } from '../mcp/session-fixture.js';
import { gate } from '../support/gate.js';
import { hang, pass, respond } from '../support/raw-answers.js';
import { startRawToolset } from '../support/raw-toolset.js';
import { until } from '../support/until.js';

test('a toolset that said that it changed is listed before those that did not, when places are scarce (3.3)', async () => {
  const toolset = await startRawToolset({ tools: [{ name: 'a', inputSchema: { type: 'object' } }] });
  const names = ['first', 'second', 'third', 'fourth', 'polled', 'notified'];
  const sessions = new Map(names.map((name) => [name, watchedSession(toolset.url, { headers: { 'x-name': name } })]));
  await Promise.all([...sessions.values()].map((session) => session.start()));
  const barrier = gate();
  toolset.on('tools/list', async (exchange) => {
    await barrier.pass();
    await pass(exchange);
  });
  const lister = new Lister({ timeoutMs: 30_000, clock: systemClock, onEnded: () => undefined });
  const started: string[] = [];
  const lists = names.map((name, number) => {
    const session = sessions.get(name);
    if (session === undefined) throw new Error(`There is no session ${name}.`);
    return lister.list(number, { session, read: () => name, notified: name === 'notified', onStarted: () => void started.push(name) });
  });
  // An origin is asked for four lists at once; the others wait although there are places in all.
  await until(() => barrier.waiting() === 4);
  expect(started).toEqual(['first', 'second', 'third', 'fourth']);
  barrier.open();
  expect(await Promise.all(lists)).toEqual(names);
  expect(started.slice(4)).toEqual(['notified', 'polled']);
});

test('a list that waits for its place has not begun: neither its time nor that of its round runs (3.3)', async () => {
  const toolset = await startRawToolset({ tools: [{ name: 'a', inputSchema: { type: 'object' } }] });
  const sessions = Array.from({ length: 12 }, () => watchedSession(toolset.url));
  await Promise.all(sessions.map((session) => session.start()));
  toolset.once('tools/list', ...Array.from({ length: 8 }, () => hang));
  // A hanging list gives its place up after two seconds, so those that wait begin after two and four.
  const lister = new Lister({ timeoutMs: 3_000, clock: systemClock, onEnded: () => undefined });
  let begun = 0;
  const outcomes = sessions.map((session, number) =>
    lister.list(number, { session, read: () => 'listed', notified: false, onStarted: () => begun++ }).catch(({ code }: CodedError) => code),
  );
  await until(() => (toolset.counts()['tools/list'] ?? 0) === 4);
  expect(begun).toBe(4);
  expect(await Promise.all(outcomes)).toEqual([...Array(8).fill('LIST_TIMEOUT'), ...Array(4).fill('listed')]);
});

test('a list that failed leaves its place to others until its next try', async () => {
  const toolset = await startRawToolset({ tools: [{ name: 'a', inputSchema: { type: 'object' } }] });
  const names = ['broken', 'broken', 'broken', 'broken', 'healthy'];
  const sessions = names.map((name) => watchedSession(toolset.url, { headers: { 'x-name': name } }));
  await Promise.all(sessions.map((session) => session.start()));
  toolset.on('tools/list', (exchange) => (exchange.request.headers['x-name'] === 'broken' ? respond({ status: 503 }) : pass)(exchange));
  // An origin is asked for four lists at once: the broken ones take all places.
  const lister = new Lister({ timeoutMs: 30_000, clock: systemClock, onEnded: () => undefined });
  const order: string[] = [];
  const lists = sessions.map(async (session, number) => {
    const list = lister.list(number, { session, read: () => 'listed', notified: false, onStarted: () => undefined });
    order.push(await list.catch(({ code }: CodedError) => code));
  });
  await Promise.all(lists);
  expect(order).toEqual(['listed', ...Array(4).fill('TOOLSET_SERVER_ERROR')]);
});
