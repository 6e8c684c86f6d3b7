import { having, listsOf, startFleet, tool } from '../flows/fleet.js';
import { gate } from '../support/gate.js';
import { type Exchange, eventText, pass, respond, rpcError, rpcResult, sse } from '../support/raw-answers.js';
import { type RawToolset, startRawToolset } from '../support/raw-toolset.js';
import { stays, until } from '../support/until.js';
import { fastClock } from './fast-clock.js';

/** Nothing but a signal can find a change within these tests. */
const NO_POLL = { MCP_AGENT_API_REFRESH_SECONDS: '0', MCP_AGENT_API_DEBOUNCE_MS: '20' };
const LIST_CHANGED = { jsonrpc: '2.0', method: 'notifications/tools/list_changed' };

const initializeResult = (toolset: RawToolset, { id, params }: Exchange) => ({
  jsonrpc: '2.0',
  id,
  result: { protocolVersion: params.protocolVersion, capabilities: toolset.capabilities, serverInfo: toolset.serverInfo },
});

describe('a notification before the handshake is finished', () => {
  test('B21: as the first frame of the answer to `initialize`, and again before `initialized`, harms nothing', async () => {
    // The case is about stdio, which an index must not start (3.13); over HTTP the frames come in the answers' event streams.
    const toolset = await startRawToolset({ era: 'stateless', tools: [tool('a', 'one')] });
    toolset.on('initialize', (exchange) => sse([LIST_CHANGED, initializeResult(toolset, exchange), LIST_CHANGED])(exchange));
    toolset.on('notifications/initialized', sse([LIST_CHANGED], { status: 202 }));
    const fleet = await startFleet({ toolset: toolset.url }, { env: NO_POLL });
    expect(await fleet.shown()).toEqual({ a: 'one' });
    // The contract asks for one list after a notification (3.4), and for one more where that shows no change (3.9).
    await stays(() => listsOf(toolset) <= 3, { durationMs: 1_500, what: 'two more lists at most' });
    expect(toolset.counts()).toMatchObject({ initialize: 1, 'notifications/initialized': 1 });
    expect(fleet.app.refresher.current?.number).toBe(1);
  });

  test('B21, variant: as the first frame of the answer to the question for the era harms nothing', async () => {
    const toolset = await startRawToolset({ era: 'modern', tools: [tool('a', 'one')] });
    toolset.once('server/discover', (exchange) =>
      sse([
        LIST_CHANGED,
        {
          jsonrpc: '2.0',
          id: exchange.id,
          result: {
            resultType: 'complete',
            ttlMs: 0,
            cacheScope: 'private',
            supportedVersions: toolset.supportedVersions,
            capabilities: toolset.capabilities,
            _meta: { 'io.modelcontextprotocol/serverInfo': toolset.serverInfo },
          },
        },
      ])(exchange),
    );
    const fleet = await startFleet({ toolset: toolset.url }, { env: NO_POLL });
    expect(await fleet.toolset('toolset')).toMatchObject({ state: 'watching', protocol: '2026-07-28', tools: 1 });
  });

  test('B21, variant: on a stream before its acknowledgement is heard, and the subscription counts all the same', async () => {
    const toolset = await startRawToolset({ era: 'modern', tools: [tool('a', 'one')] });
    toolset.on('subscriptions/listen', async (exchange) => {
      exchange.response.writeHead(200, { 'content-type': 'text/event-stream' });
      exchange.response.writeHead = () => exchange.response;
      exchange.response.write(eventText(LIST_CHANGED));
      await pass(exchange);
    });
    const fleet = await startFleet({ toolset: toolset.url }, { env: NO_POLL });
    expect((await fleet.toolset('toolset')).state).toBe('watching');
    toolset.tools = [tool('a', 'two')];
    toolset.push();
    await fleet.untilGeneration(2);
  });

  test('B21, variant: requests of the server before the handshake is finished are answered or refused, and harm nothing', async () => {
    const toolset = await startRawToolset({ era: 'stateless', tools: [tool('a', 'one')] });
    toolset.on('initialize', (exchange) =>
      sse([
        { jsonrpc: '2.0', id: 'early-1', method: 'ping' },
        { jsonrpc: '2.0', id: 'early-2', method: 'roots/list' },
        initializeResult(toolset, exchange),
      ])(exchange),
    );
    const fleet = await startFleet({ toolset: toolset.url }, { env: NO_POLL });
    expect(await fleet.shown()).toEqual({ a: 'one' });
    expect(toolset.counts().initialize).toBe(1);
  });
});

describe('a toolset that does not declare that it notifies', () => {
  test.each(['legacy', 'modern'] as const)('B22: but does notify, is heard (%s)', async (era) => {
    const toolset = await startRawToolset({ era, tools: [tool('a', 'one')], capabilities: { tools: {} }, honour: (wanted) => wanted });
    const fleet = await startFleet({ toolset: toolset.url }, { env: NO_POLL });
    toolset.tools = [tool('a', 'one'), tool('b', 'two')];
    toolset.push();
    await fleet.untilGeneration(2);
    expect(await fleet.shown()).toEqual({ a: 'one', b: 'two' });
  });

  test.each([
    ['listChanged: false', { tools: { listChanged: false } }],
    ['tools: true', { tools: true }],
    ['listChanged: "yes"', { tools: { listChanged: 'yes' } }],
  ])('B22, variant: and says so as %s, is heard as well', async (_what, capabilities) => {
    const toolset = await startRawToolset({ tools: [tool('a', 'one')], capabilities });
    const fleet = await startFleet({ toolset: toolset.url }, { env: NO_POLL });
    toolset.tools = [tool('a', 'two')];
    toolset.push();
    await fleet.untilGeneration(2);
  });
});

describe('a handshake that is not quite as the SDK wants it', () => {
  const odd: [string, { readonly serverInfo?: unknown; readonly [field: string]: unknown }][] = [
    ['null for what it lacks', { capabilities: { tools: {}, resources: null, prompts: null, logging: null }, instructions: null }],
    ['an experimental part of an odd type', { capabilities: { tools: {}, experimental: [] } }],
    ['no version of the server', { serverInfo: { name: 'kb' } }],
    ['no server info at all', { serverInfo: undefined }],
  ];

  test.each(odd)('B25, variant: with %s is taken (initialize)', async (_what, part) => {
    const toolset = await startRawToolset({ era: 'stateless', tools: [tool('a', 'one')] });
    toolset.on('initialize', (exchange) => {
      const { result, ...message } = initializeResult(toolset, exchange);
      return respond({ body: { ...message, result: { ...result, ...part } } })(exchange);
    });
    const fleet = await startFleet({ toolset: toolset.url }, { env: NO_POLL });
    expect(await fleet.shown()).toEqual({ a: 'one' });
  });

  test.each(odd)('B25, variant: with %s is taken (server/discover)', async (_what, { serverInfo, ...part }) => {
    const toolset = await startRawToolset({ era: 'modern', tools: [tool('a', 'one')] });
    const _meta = { 'io.modelcontextprotocol/serverInfo': serverInfo };
    const result = { supportedVersions: toolset.supportedVersions, capabilities: toolset.capabilities, _meta, ...part };
    toolset.on('server/discover', rpcResult(result));
    const fleet = await startFleet({ toolset: toolset.url }, { env: NO_POLL });
    expect(await fleet.shown()).toEqual({ a: 'one' });
    expect((await fleet.toolset('toolset')).protocol).toBe('2026-07-28');
  });
});

describe('a toolset without tools', () => {
  test.each(['legacy', 'modern'] as const)(
    'B25: that does not declare them is connected, with none, and is not retried (%s)',
    async (era) => {
      const resourcesOnly = await startRawToolset({ era, capabilities: { resources: { listChanged: true } }, honour: (wanted) => wanted });
      resourcesOnly.on('tools/list', rpcError(-32601, 'Method not found'));
      const other = await startRawToolset({ tools: [tool('x', 'one')] });
      const fleet = await startFleet({ resourcesOnly: resourcesOnly.url, other: other.url }, { env: NO_POLL });
      expect(await fleet.shown()).toEqual({ x: 'one' });
      // What the case calls `connected, 0 tools` is a state that is not `failing`, with no tools.
      expect(await fleet.toolset('resourcesOnly')).toMatchObject({ state: 'watching', tools: 0, error: null, failures: 0, retryAt: null });
      expect(await fleet.readiness()).toEqual({ status: 200, body: { status: 'ready' } });
      await stays(() => listsOf(resourcesOnly) === 0, { durationMs: 300 });
    },
  );

  test('B25, variant: that declares them and then does not know the method is failing, asked ever less often, and harms nobody', async () => {
    const liar = await startRawToolset({ capabilities: { tools: {} } });
    liar.on('tools/list', rpcError(-32601, 'Method not found'));
    const other = await startRawToolset({ tools: [tool('x', 'one')] });
    const env = {
      ...NO_POLL,
      MCP_AGENT_API_INDEX_SECONDS: '0',
      MCP_AGENT_API_LIST_TIMEOUT_SECONDS: '200',
      MCP_AGENT_API_STARTUP_SECONDS: '6000',
    };
    const fleet = await startFleet({ liar: liar.url, other: other.url }, { env, clock: fastClock(25), wait: false });
    await fleet.untilState('liar', 'failing');
    await fleet.untilGeneration(1);
    expect(await fleet.shown()).toEqual({ x: 'one' });
    const before = liar.requests.length;
    // One minute. A try is up to three attempts with a new handshake each.
    await stays(() => liar.requests.length - before < 8 * 3 * 7, { durationMs: 60_000 / 25, what: 'a bounded number of requests' });
    expect((await fleet.toolset('liar')).error?.code).toBe('TOOLSET_PROTOCOL_ERROR');
  });

  test('B25, variant: that learns to have some after a restart is found to have them', async () => {
    const toolset = await startRawToolset({ capabilities: { resources: {} } });
    const fleet = await startFleet({ toolset: toolset.url }, { env: NO_POLL });
    expect(await fleet.shown()).toEqual({});
    toolset.capabilities = { tools: { listChanged: true } };
    toolset.tools = [tool('a', 'one')];
    toolset.forgetSessions();
    toolset.cutStreams('fin');
    await fleet.untilGeneration(2);
    expect(await fleet.shown()).toEqual({ a: 'one' });
  });

  test('B25, variant: that announces some without declaring them is connected anew', async () => {
    const toolset = await startRawToolset({ capabilities: { resources: {} } });
    const fleet = await startFleet({ toolset: toolset.url }, { env: NO_POLL });
    toolset.capabilities = { tools: { listChanged: true } };
    toolset.tools = [tool('a', 'one')];
    toolset.push();
    await fleet.untilGeneration(2);
    expect(await fleet.shown()).toEqual({ a: 'one' });
  });
});

describe('a toolset that waits for `initialized`', () => {
  const startLate = async () => {
    const toolset = await startRawToolset({ tools: [tool('early', 'one')] });
    toolset.on('initialize', async (exchange) => {
      toolset.tools = [tool('early', 'one')];
      await pass(exchange);
    });
    toolset.on('notifications/initialized', async (exchange) => {
      toolset.tools = [...toolset.tools, tool('late', 'two')];
      await pass(exchange);
    });
    return toolset;
  };
  const order = ({ requests }: RawToolset) =>
    requests.map(({ rpc }) => rpc).filter((rpc) => rpc === 'initialize' || rpc === 'notifications/initialized' || rpc === 'tools/list');

  test('B26: is told before it is listed, in every handshake', async () => {
    const toolset = await startLate();
    const fleet = await startFleet({ toolset: toolset.url }, { env: NO_POLL });
    expect(await fleet.shown()).toEqual({ early: 'one', late: 'two' });
    expect(order(toolset)).toEqual(['initialize', 'notifications/initialized', 'tools/list']);
    toolset.requests.length = 0;
    toolset.forgetSessions();
    toolset.cutStreams('rst');
    await until(() => having(fleet.rounds(), 'unchanged').length > 0);
    expect(order(toolset).slice(0, 3)).toEqual(['initialize', 'notifications/initialized', 'tools/list']);
    expect(fleet.app.refresher.current?.number).toBe(1);
  });

  test('B26, variant: and answers `initialized` slowly, is not listed meanwhile', async () => {
    const toolset = await startRawToolset({ tools: [tool('early', 'one')] });
    const barrier = gate();
    toolset.on('notifications/initialized', async (exchange) => {
      await barrier.pass();
      toolset.tools = [tool('early', 'one'), tool('late', 'two')];
      await pass(exchange);
    });
    const fleet = await startFleet({ toolset: toolset.url }, { env: NO_POLL, wait: false });
    await until(() => barrier.waiting() === 1);
    await stays(() => listsOf(toolset) === 0, { durationMs: 200 });
    barrier.open();
    await fleet.started;
    expect(await fleet.shown()).toEqual({ early: 'one', late: 'two' });
    expect(listsOf(toolset)).toBe(1);
  });

  test('B26, variant: and refuses `initialized` with 500, is connected anew until it takes it', async () => {
    const toolset = await startRawToolset({ tools: [tool('a', 'one')] });
    toolset.once('notifications/initialized', respond({ status: 500 }), respond({ status: 500 }));
    const fleet = await startFleet({ toolset: toolset.url }, { env: NO_POLL, wait: false });
    await fleet.untilGeneration(1);
    expect(await fleet.shown()).toEqual({ a: 'one' });
    await fleet.untilState('toolset', 'watching');
  });
});
