import { having, startFleet, tool } from '../flows/fleet.js';
import { type Answer, type Exchange, pass, respond, rpcError } from '../support/raw-answers.js';
import { type RawToolset, startRawToolset } from '../support/raw-toolset.js';
import { stays, until } from '../support/until.js';

const TOOLS = [tool('a', 'one')];
const env = { MCP_AGENT_API_DEBOUNCE_MS: '20' };

/** What the toolset was asked to speak by each `initialize`, in order. */
function offersTo(toolset: RawToolset): string[] {
  const offers: string[] = [];
  toolset.on('initialize', (exchange) => {
    offers.push(String(exchange.params.protocolVersion));
    return pass(exchange);
  });
  return offers;
}

/** Lets the toolset speak these versions only, and refuse the offer of another by this answer. */
function speaksOnly(toolset: RawToolset, versions: readonly string[], refuse: (offered: string) => Answer): string[] {
  const offers: string[] = [];
  toolset.on('initialize', (exchange: Exchange) => {
    const offered = String(exchange.params.protocolVersion);
    offers.push(offered);
    if (!versions.includes(offered)) return refuse(offered)(exchange);
    toolset.protocolVersion = offered;
    return pass(exchange);
  });
  return offers;
}

describe('the question for the 2026 era', () => {
  test('B127: answered by -32022 with a version that both speak is asked once more with that version, without initialize', async () => {
    const toolset = await startRawToolset({ era: 'modern', tools: TOOLS });
    const data = { supported: ['2027-01-01', '2026-07-28'], requested: '2026-07-28' };
    toolset.once('server/discover', rpcError(-32022, 'Unsupported protocol version', { status: 400, data }));
    const fleet = await startFleet({ toolset: toolset.url }, { env });
    expect(toolset.counts()).toMatchObject({ 'server/discover': 2 });
    expect(toolset.counts().initialize).toBe(0);
    expect(await fleet.toolset('toolset')).toMatchObject({ state: 'watching', protocol: '2026-07-28' });
  });

  test('B127, variant: answered by -32022 that names only older versions leads to initialize', async () => {
    const toolset = await startRawToolset({ tools: TOOLS, protocolVersion: '2025-06-18' });
    const data = { supported: ['2025-06-18'], requested: '2026-07-28' };
    toolset.on('server/discover', rpcError(-32022, 'Unsupported protocol version', { status: 400, data }));
    const fleet = await startFleet({ toolset: toolset.url }, { env });
    expect(await fleet.toolset('toolset')).toMatchObject({ state: 'watching', protocol: '2025-06-18' });
  });

  test('B127, variant: answered by -32022 that names only versions that nobody knows says so, and is repeated ever less often', async () => {
    const toolset = await startRawToolset({ era: 'modern', supportedVersions: ['2099-01-01'] });
    const fleet = await startFleet({ toolset: toolset.url }, { env, wait: false });
    await until(async () => (await fleet.toolset('toolset')).error?.code === 'TOOLSET_VERSION_UNSUPPORTED', { what: 'the failure' });
    const asked = toolset.requests.length;
    await stays(() => toolset.requests.length <= asked + 2, { durationMs: 1_200, what: 'few requests' });
    expect(toolset.counts().initialize).toBe(0);
  });
});

describe('B130: the version header', () => {
  test('is the negotiated one on everything after the handshake, and follows a server that negotiates another after a restart', async () => {
    const toolset = await startRawToolset({ tools: TOOLS, protocolVersion: '2025-06-18', strictVersion: true });
    const fleet = await startFleet({ toolset: toolset.url }, { env });
    await fleet.refresh('toolset');
    // A session is only named after its handshake.
    const versionsBySession = () => {
      const found = new Map<unknown, Set<string>>();
      for (const { method, headers } of toolset.requests) {
        const session = headers['mcp-session-id'];
        if (session !== undefined)
          found.set(session, (found.get(session) ?? new Set()).add(`${method} ${headers['mcp-protocol-version']}`));
      }
      return [...found.values()];
    };
    expect(versionsBySession()).toEqual([new Set(['POST 2025-06-18', 'GET 2025-06-18'])]);

    toolset.protocolVersion = '2025-03-26';
    toolset.tools = [tool('a', 'two')];
    toolset.forgetSessions();
    toolset.cutStreams('rst');
    await fleet.untilGeneration(2);
    await until(async () => (await fleet.toolset('toolset')).protocol === '2025-03-26', { what: 'the other version' });
    await fleet.app.stop();
    await until(() => toolset.sessions.size === 0, { what: 'the end of the session' });
    expect(versionsBySession().at(-1)).toEqual(new Set(['POST 2025-03-26', 'GET 2025-03-26', 'DELETE 2025-03-26']));
  });
});

describe('a server that refuses the newest version of initialize', () => {
  const refusals: [string, (offered: string) => Answer][] = [
    ['400, in the text', () => rpcError(-32000, 'Bad Request: supported versions: 2025-06-18, 2025-03-26', { status: 400 })],
    [
      '400, in the text, next to the one refused',
      (offered) =>
        rpcError(-32000, `Unsupported protocol version: ${offered} (supported versions: 2025-03-26, 2025-06-18)`, { status: 400 }),
    ],
    [
      '-32602, in its data',
      (offered) => rpcError(-32602, 'Unsupported protocol version', { data: { supported: ['2025-06-18'], requested: offered } }),
    ],
    ['400 without JSON', () => respond({ status: 400, body: 'Unsupported protocol version. Use 2025-06-18.' })],
    ['-32022 with its data', () => rpcError(-32022, 'No', { status: 400, data: { supported: ['2025-06-18', '2024-11-05'] } })],
  ];

  test.each(refusals)('B131: and names others (%s) is offered the newest of those', async (_what, refuse) => {
    const toolset = await startRawToolset({ tools: TOOLS, strictVersion: true });
    const offers = speaksOnly(toolset, ['2025-06-18', '2025-03-26'], refuse);
    const fleet = await startFleet({ toolset: toolset.url }, { env });
    expect(offers).toEqual(['2025-11-25', '2025-06-18']);
    expect(await fleet.toolset('toolset')).toMatchObject({ state: 'watching', protocol: '2025-06-18' });
    expect(await fleet.shown()).toEqual({ a: 'one' });
  });

  test('B131, variant: and names none is offered the older ones, one after another', async () => {
    const toolset = await startRawToolset({ tools: TOOLS, strictVersion: true });
    const offers = speaksOnly(toolset, ['2025-03-26'], () =>
      rpcError(-32000, 'Bad Request: Unsupported protocol version', { status: 400 }),
    );
    const fleet = await startFleet({ toolset: toolset.url }, { env });
    expect(offers).toEqual(['2025-11-25', '2025-06-18', '2025-03-26']);
    expect(await fleet.toolset('toolset')).toMatchObject({ state: 'watching', protocol: '2025-03-26' });
  });

  test('B131, variant: and names only those that nobody knows is failing for its version, and is not asked in a loop', async () => {
    const toolset = await startRawToolset({ tools: TOOLS });
    const offers = speaksOnly(toolset, [], () => rpcError(-32000, 'supported protocol versions: 2098-01-01, 2099-01-01', { status: 400 }));
    const fleet = await startFleet({ toolset: toolset.url }, { env, wait: false });
    await until(async () => (await fleet.toolset('toolset')).error?.code === 'TOOLSET_VERSION_UNSUPPORTED', { what: 'the failure' });
    await stays(() => offers.length <= 3, { durationMs: 1_200, what: 'one offer for each attempt' });
    expect(new Set(offers)).toEqual(new Set(['2025-11-25']));
  });
});

test.each(['2099-01-01', ''])(
  'B131: a server that answers initialize with the version %j is failing for its version, is left without a session, and is not asked in a loop',
  async (protocolVersion) => {
    const healthy = await startRawToolset({ tools: [tool('b', 'one')] });
    const toolset = await startRawToolset({ tools: TOOLS, protocolVersion });
    const offers = offersTo(toolset);
    const fleet = await startFleet({ toolset: toolset.url, healthy: healthy.url }, { env, wait: false });
    await until(async () => (await fleet.toolset('toolset')).error?.code === 'TOOLSET_VERSION_UNSUPPORTED', { what: 'the failure' });
    await stays(() => offers.length <= 3, { durationMs: 1_200, what: 'few handshakes' });
    await until(() => toolset.sessions.size <= 1, { what: 'the sessions that nobody can use to be ended' });
    await fleet.untilGeneration(1);
    expect(await fleet.shown()).toEqual({ b: 'one' });

    toolset.protocolVersion = '2025-11-25';
    await fleet.refresh('toolset');
    await fleet.untilState('toolset', 'watching');
    expect(await fleet.shown()).toEqual({ a: 'one', b: 'one' });
    expect(having(fleet.rounds(), 'rejected')).toEqual([]);
  },
);
