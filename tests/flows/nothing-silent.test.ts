import type { AddressInfo } from 'node:net';
import express from 'express';
import type { RefreshStatus } from '../../src/core/status.js';
import { closeServer, listen } from '../../src/http/application.js';
import type { FeedEvent } from '../../src/http/event-schemas.js';
import { buildAgent, Checkpointing, createModel, createRouter, ToolsetRefresher } from '../../src/index.js';
import { onCleanup } from '../support/cleanup.js';
import { followFeed } from '../support/feed-client.js';
import { startIndex } from '../support/index-server.js';
import { startModelServer } from '../support/model-server.js';
import { type SdkToolset, startSdkToolset } from '../support/sdk-toolset.js';
import { until } from '../support/until.js';
import { tool } from './fleet.js';

/** A host with one toolset, whose agents cannot be built while that toolset has a tool called `unbuildable`. */
async function startHost(everySeconds: number) {
  const kb = await startSdkToolset({ era: 'legacy', tools: [tool('search', 'one')] });
  const index = await startIndex({ kb: kb.url });
  const provider = await startModelServer();
  const model = await createModel({ model: 'openai:test-model', apiKey: 'test-key', baseUrl: provider.baseUrl });
  const { saver } = await Checkpointing.open('memory');
  const messages: string[] = [];
  const log = (message: string) => void messages.push(message);
  const logger = { debug: log, info: log, warn: log, error: log };
  const refresher = new ToolsetRefresher({
    url: index.url,
    everySeconds,
    indexSeconds: 0,
    logger,
    build: (catalog, sessions) => {
      if (catalog.snapshots.some(({ tools }) => tools.some(({ name }) => name === 'unbuildable')))
        throw new Error('No agent can be built from this.');
      return buildAgent({ catalog, sessions, model, checkpointer: saver });
    },
  });
  const app = express().use(createRouter(refresher, { tokens: { admin: 'admin-token' }, logger }));
  const server = await listen(app, { host: '127.0.0.1', port: 0 });
  onCleanup(() => closeServer(server, 0));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await refresher.start();
  onCleanup(() => refresher.stop());
  const headers = { authorization: 'Bearer admin-token' };
  const read = async (path: string) => (await fetch(origin + path, { headers })).text();
  const status = async () => JSON.parse(await read('/refresh')) as RefreshStatus;
  await until(async () => (await status()).toolsets[0]?.state === 'watching', { what: 'the toolset to be watched' });
  return { kb, messages, feed: await followFeed(origin, { headers }), status, metrics: () => read('/metrics') };
}

interface Happening {
  readonly what: string;
  readonly everySeconds?: number;
  readonly cause: (kb: SdkToolset) => unknown;
  readonly message: string;
  readonly event: { readonly type: FeedEvent['type'] } & Readonly<Record<string, unknown>>;
  readonly metric: RegExp;
  readonly status: (status: RefreshStatus) => unknown;
}

const HAPPENINGS: readonly Happening[] = [
  {
    what: 'a swap',
    cause: (kb) => kb.setTools([tool('search', 'two')]),
    message: 'agent swapped',
    event: { type: 'generation', number: 2, trigger: 'notification' },
    metric: /^mcp_agent_rounds_total\{outcome="swapped",trigger="notification"\} 1$/m,
    status: ({ generation, last }) => generation === 2 && last?.outcome === 'swapped',
  },
  {
    what: 'an aborted round',
    cause: (kb) => kb.kill(),
    message: 'round aborted',
    event: { type: 'round', outcome: 'aborted' },
    metric: /^mcp_agent_rounds_total\{outcome="aborted",trigger="\w+"\} [1-9]/m,
    status: ({ rounds }) => rounds.aborted > 0,
  },
  {
    what: 'a rejected round',
    cause: (kb) => kb.setTools([tool('unbuildable', 'one')]),
    message: 'round rejected',
    event: { type: 'round', outcome: 'rejected' },
    metric: /^mcp_agent_rounds_total\{outcome="rejected",trigger="notification"\} [1-9]/m,
    status: ({ generation, rounds, toolsets }) => generation === 1 && rounds.rejected > 0 && toolsets[0]?.held?.reason === 'rejected',
  },
  {
    what: 'a change that is held',
    cause: (kb) => kb.setTools([]),
    message: 'change held',
    event: { type: 'held', toolset: 'kb', reason: 'empty' },
    metric: /^mcp_agent_rounds_total\{outcome="held",trigger="notification"\} [1-9]/m,
    status: ({ generation, rounds, toolsets }) => generation === 1 && rounds.held > 0 && toolsets[0]?.held?.reason === 'empty',
  },
  {
    what: 'a missed signal',
    everySeconds: 1,
    cause: (kb) => kb.setTools([tool('search', 'two')], { notify: false }),
    message: 'signal missed',
    event: { type: 'missed', toolset: 'kb', missedSignals: 1 },
    metric: /^mcp_agent_missed_signals_total\{toolset="kb"\} 1$/m,
    status: ({ toolsets }) => toolsets[0]?.missedSignals === 1,
  },
  {
    what: 'a change of a toolset’s state',
    cause: (kb) => kb.kill(),
    message: 'toolset failing',
    event: { type: 'toolset', toolset: 'kb', to: 'failing' },
    metric: /^mcp_agent_toolset_state\{toolset="kb",state="failing"\} 1$/m,
    status: ({ toolsets }) => toolsets[0]?.state === 'failing',
  },
];

const isLike = (event: object, wanted: object) => Object.entries(wanted).every(([key, value]) => Reflect.get(event, key) === value);

test.each(HAPPENINGS)('$what is a log line, an event, a metric, and can be seen at GET /refresh (2.8)', async (happening) => {
  const { kb, messages, feed, status, metrics } = await startHost(happening.everySeconds ?? 0);
  // The first generation was a swap, too.
  messages.length = 0;
  expect(await metrics()).not.toMatch(happening.metric);
  expect(happening.status(await status())).toBe(false);
  await happening.cause(kb);
  await until(async () => happening.status(await status()), { what: `GET /refresh to show ${happening.what}`, timeoutMs: 15_000 });
  await until(() => messages.includes(happening.message), { what: `the line ${happening.message}` });
  await feed.next(happening.event.type, (event) => isLike(event, happening.event));
  await until(async () => happening.metric.test(await metrics()), { what: 'the metric' });
});
