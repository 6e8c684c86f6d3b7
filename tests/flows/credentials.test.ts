import { startIndex } from '../support/index-server.js';
import type { ModelRequest } from '../support/model-server.js';
import { respond } from '../support/raw-answers.js';
import { startRawToolset } from '../support/raw-toolset.js';
import { runTurn, type Turn } from '../support/run-client.js';
import { type SdkEra, type SdkToolset, startSdkToolset } from '../support/sdk-toolset.js';
import { until } from '../support/until.js';
import { ADMIN, type Fleet, startFleet, tool } from './fleet.js';

const USERS = 200;

/** Every tenth user calls all three toolsets at once, the others the first one only: model turns cost most of the time here. */
const callsOf = (user: number) => (user % 10 === 0 ? ['ask_a', 'ask_b', 'ask_c'] : ['ask_a']);

/** Lets the model call the tools with the user's text as argument, and then say "done". */
function callTools({ body }: ModelRequest) {
  const last = body.messages.at(-1);
  if (last?.role !== 'user') return { text: 'done' };
  return { toolCalls: callsOf(Number(last.content)).map((name) => ({ name, args: { user: last.content } })) };
}

const headersOf = (user: number) => ({
  authorization: `Bearer secret-authorization-of-${user}`,
  'x-demo-token': `secret-demo-of-${user}`,
  'x-other': `secret-other-of-${user}`,
  'x-undeclared': `secret-undeclared-of-${user}`,
  cookie: `session=secret-cookie-of-${user}`,
});

interface Setting {
  readonly fleet: Fleet;
  readonly a: SdkToolset;
  readonly b: SdkToolset;
  readonly c: SdkToolset;
}

/** Toolset `a` declares two headers, one of them `Authorization`; `b` declares one, which has a fallback; `c` declares none. */
async function startSetting(era: SdkEra): Promise<Setting> {
  const [a, b, c] = await Promise.all(
    ['ask_a', 'ask_b', 'ask_c'].map((name) => startSdkToolset({ era, tools: [tool(name, `Calls ${name}.`)] })),
  );
  if (a === undefined || b === undefined || c === undefined) throw new Error('Three toolsets were started.');
  const index = await startIndex();
  const connections = { a: { url: a.url, headers: { 'x-service': 'secret-of-the-service' } }, b: b.url, c: c.url };
  const toolsets = [
    { name: 'a', url: a.url, status: 'ok', credential_headers: ['Authorization', 'X-Demo-Token', 'cookie', 'mcp-session-id'] },
    { name: 'b', url: b.url, status: 'ok', credential_headers: ['x-other'] },
  ];
  index.set(connections, { toolsets });
  const env = { MCP_AGENT_API_MAX_RUNS: '250', X_OTHER: 'secret-fallback' };
  const fleet = await startFleet({}, { mcpUrl: index.url, env });
  fleet.model.reply(callTools);
  return { fleet, a, b, c };
}

/** Everything that the service said to anybody but the toolsets. */
async function saidBy({ fleet }: Setting, turns: readonly Turn[]): Promise<string> {
  const paths = [
    '/metrics',
    '/refresh',
    '/connections',
    '/openapi.json',
    '/health/readiness',
    ...turns.slice(0, 20).map(({ threadId }) => `/threads/${threadId}`),
  ];
  const answers = await Promise.all(
    paths.map(async (path) => {
      const response = await fetch(fleet.baseUrl + path, { headers: ADMIN });
      expect([path, response.status]).toEqual([path, 200]);
      return response.text();
    }),
  );
  const asked = fleet.model.requests.map(({ text, headers }) => text + JSON.stringify(headers));
  return [JSON.stringify(fleet.log), JSON.stringify(turns), ...answers, ...asked].join('\n');
}

test.each<SdkEra>(['legacy', 'modern'])(
  '200 users at once over shared sessions: each call carries the headers of its own user, only those that its toolset declared, and no value is found elsewhere (%s)',
  async (era) => {
    const setting = await startSetting(era);
    const { fleet, a, b, c } = setting;
    const turns = await Promise.all(
      Array.from({ length: USERS }, (_, user) => runTurn(fleet.baseUrl, { text: String(user), headers: headersOf(user) })),
    );
    expect(turns.filter(({ text }) => text !== 'done')).toEqual([]);
    expect([a, b, c].map(({ calls }) => calls.length)).toEqual([USERS, USERS / 10, USERS / 10]);
    for (const { args, headers } of a.calls) {
      const { authorization, 'x-demo-token': demo } = headersOf(Number(args.user));
      expect(headers).toMatchObject({ authorization, 'x-demo-token': demo, 'x-service': 'secret-of-the-service' });
    }
    for (const { args, headers } of b.calls) expect(headers['x-other']).toBe(`secret-other-of-${args.user}`);
    const notDeclared: readonly (readonly [SdkToolset, RegExp])[] = [
      [a, /secret-(other|undeclared|cookie|fallback)/],
      [b, /secret-(authorization|demo|undeclared|cookie|of-the-service)/],
      [c, /secret-/],
    ];
    for (const [toolset, pattern] of notDeclared) expect(JSON.stringify(toolset.requests)).not.toMatch(pattern);
    // What the service asks on its own behalf carries no user's header.
    for (const { requests } of [a, b])
      expect(JSON.stringify(requests.filter(({ rpc }) => rpc !== 'tools/call'))).not.toMatch(/secret-(authorization|demo|other)-of-/);
    if (era === 'legacy') expect([a, b, c].map((toolset) => toolset.sessions())).toEqual([1, 1, 1]);
    expect(await saidBy(setting, turns)).not.toMatch(/secret-/);
  },
  180_000,
);

test('the environment stands in for a header that the user does not send, and the answer says so', async () => {
  const { fleet, a, b } = await startSetting('legacy');
  await runTurn(fleet.baseUrl, { text: '0' });
  expect(b.calls.at(-1)?.headers['x-other']).toBe('secret-fallback');
  expect(a.calls.at(-1)?.headers.authorization).toBeUndefined();
  await runTurn(fleet.baseUrl, { text: '10', headers: { 'x-other': '' } });
  expect(b.calls.at(-1)?.headers['x-other']).toBe('secret-fallback');
  const { toolsets } = (await (await fetch(`${fleet.baseUrl}/connections`)).json()) as { toolsets: unknown };
  expect(toolsets).toEqual([
    {
      name: 'a',
      credentials: [
        { header: 'authorization', supplied: false },
        { header: 'x-demo-token', supplied: false },
      ],
    },
    { name: 'b', credentials: [{ header: 'x-other', supplied: true }] },
    { name: 'c', credentials: [] },
  ]);
});

test('users of a toolset that binds a session to one caller are served at once, through the API', async () => {
  const owners = new Map<string, string>();
  const toolset = await startRawToolset({ tools: [tool('ask_a', 'one')] });
  toolset.on('*', async (exchange) => {
    const { headers } = exchange.request;
    const user = headers.authorization ?? 'service';
    const sending = exchange.prepare();
    if (exchange.what === 'initialize') owners.set([...toolset.sessions].at(-1) ?? '', user);
    const owner = owners.get(String(headers['mcp-session-id'])) ?? user;
    return owner === user ? (await sending)() : respond({ status: 403, body: { error: 'forbidden' } })(exchange);
  });
  const index = await startIndex();
  index.set({ a: toolset.url }, { toolsets: [{ name: 'a', credential_headers: ['authorization'] }] });
  const fleet = await startFleet({}, { mcpUrl: index.url });
  fleet.model.reply(({ body }) => {
    const last = body.messages.at(-1);
    return last?.role === 'user' ? { toolCalls: [{ name: 'ask_a', args: { user: last.content } }] } : { text: String(last?.content) };
  });
  const users = Array.from({ length: 20 }, (_, user) => String(user));
  const turns = await Promise.all(
    users.map((user) => runTurn(fleet.baseUrl, { text: user, headers: { authorization: `Bearer secret-of-${user}` } })),
  );
  expect(turns.map(({ text }) => text)).toEqual(users.map((user) => JSON.stringify({ user })));
  const answered = toolset.received.filter(({ headers, args }) => headers.authorization === `Bearer secret-of-${args.user}`);
  expect(new Set(answered.map(({ args }) => args.user)).size).toBe(users.length);
  expect(JSON.stringify([fleet.log, await fleet.status()])).not.toContain('secret-of');
  expect(fleet.log.filter(({ message }) => message === 'sessions are per user')).toHaveLength(1);
  await fleet.untilState('a', 'watching');
  await fleet.app.stop();
  await until(() => toolset.openSockets() === 0);
});
