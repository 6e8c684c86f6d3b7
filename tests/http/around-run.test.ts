import { AsyncLocalStorage } from 'node:async_hooks';
import type { AroundRun } from '../../src/http/runs.js';
import { runTurn, runVerifiedTurn } from '../support/run-client.js';
import { startAgentHost } from './agent-host.js';

const last = (events: readonly { type: string; [field: string]: unknown }[]) => events.at(-1);

test('what a host wraps around a run is there while model and tools work, and its configuration is for that run only (12.4)', async () => {
  const request = new AsyncLocalStorage<string>();
  const seen: unknown[] = [];
  const aroundRun: AroundRun = ({ req }, run) => {
    const user = req.get('x-user') ?? '';
    const note = (what: string) => void seen.push([user, what, request.getStore()]);
    const callbacks = [{ handleChatModelStart: () => note('model'), handleToolStart: () => note('tool') }];
    return request.run(user, () => run({ callbacks, tags: [user] }));
  };
  const host = await startAgentHost({ toolsets: [{ name: 'kb', tools: [{ name: 'search' }] }], router: { aroundRun } });
  host.model.reply(({ body }) =>
    body.messages.at(-1)?.role === 'user' ? { toolCalls: [{ name: 'search', args: {} }] } : { text: 'done' },
  );
  await Promise.all(['one', 'two'].map((user) => runTurn(host.url, { text: 'hi', headers: { 'x-user': user } })));
  for (const user of ['one', 'two']) {
    const of = seen.filter((entry) => Array.isArray(entry) && entry[0] === user);
    expect(of).toContainEqual([user, 'model', user]);
    expect(of).toContainEqual([user, 'tool', user]);
    expect(of.filter((entry) => Array.isArray(entry) && entry[2] !== user)).toEqual([]);
  }
});

test('a host wraps each run, and what it throws after the turn does not fail the run (12.4)', async () => {
  const seen: unknown[] = [];
  const host = await startAgentHost({
    router: {
      aroundRun: async ({ threadId, runId, generation }, run) => {
        seen.push([threadId, runId, generation]);
        await run();
        seen.push('after');
        throw new Error('the host stumbles');
      },
    },
  });
  const turn = await runVerifiedTurn(host.url, { text: 'hi', threadId: 't1', runId: 'r1' });
  expect(last(turn.events)).toMatchObject({ type: 'RUN_FINISHED' });
  expect(seen).toEqual([['t1', 'r1', 1], 'after']);
});

test('a host may configure a run; that the run failed is told to the client even when the host swallows it (12.4)', async () => {
  const aroundRun: AroundRun = (_info, run) => run({ recursionLimit: 1 }).catch(() => {});
  const host = await startAgentHost({ router: { aroundRun } });
  const turn = await runVerifiedTurn(host.url, { text: 'hi' });
  expect(last(turn.events)).toMatchObject({ type: 'RUN_ERROR', code: 'recursion_limit' });
});

test.each([
  ['throws before the run', async () => Promise.reject(new Error('no tracing today'))],
  ['never runs it', async () => {}],
])('a host whose wrapper %s fails the run with run_failed', async (_what, aroundRun: AroundRun) => {
  const host = await startAgentHost({ router: { aroundRun } });
  const turn = await runVerifiedTurn(host.url, { text: 'hi' });
  expect(turn.events.map(({ type }) => type)).toEqual(['RUN_STARTED', 'RUN_ERROR']);
  expect(last(turn.events)).toMatchObject({ code: 'run_failed' });
});
