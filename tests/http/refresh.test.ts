import type { RouterOptions } from '../../src/http/router.js';
import { runTurn } from '../support/run-client.js';
import { type AgentHost, emptyRound, emptyStatus, startAgentHost } from './agent-host.js';

const error = { code: 'LIST_MALFORMED', toolset: 'kb', message: 'page 2: tools is null', url: 'http://10.0.0.7/mcp' };

async function startRefreshHost(router: RouterOptions): Promise<AgentHost & { asked: (string | undefined)[] }> {
  const host = await startAgentHost({ router });
  const asked: (string | undefined)[] = [];
  const toolset = {
    url: 'http://10.0.0.7/mcp',
    state: 'failing',
    protocol: null,
    server: null,
    tools: 1,
    hiddenCharacters: 0,
    fingerprint: null,
    listedAt: null,
    nextListAt: null,
    notifiedAt: null,
    missedSignals: 0,
    flapping: false,
    held: null,
    failures: 1,
    retryAt: null,
  } as const;
  host.refreshing.status = {
    ...emptyStatus(),
    last: { ...emptyRound(), outcome: 'aborted', error },
    toolsets: [
      { ...toolset, name: 'kb', error: { code: error.code, message: error.message } },
      { ...toolset, name: 'web', error: { code: 'TOOLSET_UNREACHABLE', message: 'refused by web' } },
    ],
    index: { error: { code: 'INDEX_UNREACHABLE', message: 'no route to index' }, readAt: null },
  };
  host.refreshing.refresh = async (options) => {
    asked.push(options?.toolset);
    if (options?.toolset === 'nobody') throw new RangeError('unknown');
    return { ...emptyRound(), error };
  };
  return Object.assign(host, { asked });
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

function refresh(host: AgentHost, { token, body, query = '' }: { token?: string; body?: unknown; query?: string }): Promise<Response> {
  const headers = new Headers(token === undefined ? {} : bearer(token));
  if (body !== undefined) headers.set('content-type', 'application/json');
  return fetch(`${host.url}/refresh${query}`, {
    method: 'POST',
    headers,
    body: body === undefined ? undefined : JSON.stringify(body),
  });
}

const tokens = { api: 'user-token', admin: 'admin-token', refresh: new Map([['kb', 'kb-token']]) };

test('with an API token every route but health wants a bearer token', async () => {
  const host = await startRefreshHost({ tokens });
  expect((await runTurn(host.url, { text: 'hi' })).status).toBe(401);
  expect((await runTurn(host.url, { text: 'hi', headers: bearer('user-token-and-more') })).status).toBe(401);
  expect((await runTurn(host.url, { text: 'hi', headers: bearer('user-token') })).text).toBe('ok');
  expect((await runTurn(host.url, { text: 'hi', headers: bearer('admin-token') })).text).toBe('ok');
  expect((await runTurn(host.url, { text: 'hi', headers: bearer('kb-token') })).status).toBe(403);
  for (const path of ['/connections', '/threads/t', '/refresh']) {
    const response = await fetch(host.url + path);
    expect([response.status, response.headers.get('www-authenticate')]).toEqual([401, 'Bearer']);
  }
  for (const path of ['/health/liveness', '/health/readiness']) expect((await fetch(host.url + path)).status).toBe(200);
});

test('the status shows URLs and error texts to administrators, to a toolset its own, and to nobody else', async () => {
  const host = await startRefreshHost({ tokens });
  const status = async (token: string) => (await fetch(`${host.url}/refresh`, { headers: bearer(token) })).text();
  const forUser = await status('user-token');
  expect(forUser).not.toMatch(/10\.0\.0\.7|page 2|refused by web|no route/);
  expect(JSON.parse(forUser)).toMatchObject({ last: { error: { code: 'LIST_MALFORMED', toolset: 'kb' } } });
  expect(JSON.parse(forUser).toolsets[0].error).toEqual({ code: 'LIST_MALFORMED', toolset: 'kb' });
  const forToolset = await status('kb-token');
  expect(forToolset).toMatch(/page 2/);
  expect(forToolset).not.toMatch(/refused by web|no route/);
  const forAdmin = await status('admin-token');
  for (const text of ['10.0.0.7', 'page 2', 'refused by web', 'no route']) expect(forAdmin).toContain(text);
});

test('an administrator refreshes everything, a toolset only itself, a user nothing', async () => {
  const host = await startRefreshHost({ tokens });
  expect((await refresh(host, { token: 'user-token' })).status).toBe(403);
  expect((await refresh(host, { token: 'kb-token' })).status).toBe(403);
  expect((await refresh(host, { token: 'kb-token', body: { toolset: 'web' } })).status).toBe(403);
  expect((await refresh(host, {})).status).toBe(401);
  expect(host.asked).toEqual([]);
  const own = await refresh(host, { token: 'kb-token', body: { toolset: 'kb' } });
  expect(await own.json()).toMatchObject({ outcome: 'unchanged', error: { message: error.message } });
  expect((await refresh(host, { token: 'admin-token' })).status).toBe(200);
  expect((await refresh(host, { token: 'admin-token', body: {} })).status).toBe(200);
  expect(host.asked).toEqual(['kb', undefined, undefined]);
});

test('a refresh of an unknown toolset is 404, and a body that is none is refused', async () => {
  const host = await startRefreshHost({ tokens });
  expect((await refresh(host, { token: 'admin-token', body: { toolset: 'nobody' } })).status).toBe(404);
  expect((await refresh(host, { token: 'admin-token', body: { toolset: 7 } })).status).toBe(422);
  const text = { method: 'POST', headers: { ...bearer('admin-token'), 'content-type': 'text/plain' }, body: 'kb' };
  expect((await fetch(`${host.url}/refresh`, text)).status).toBe(415);
});

test('a request for a dry run never makes the change, also where the host cannot say what would follow', async () => {
  const host = await startRefreshHost({ tokens });
  const dry = await refresh(host, { token: 'admin-token', query: '?dry=true' });
  expect([dry.status, await dry.json()]).toMatchObject([404, { code: 'not_available' }]);
  expect((await refresh(host, { token: 'admin-token', query: '?dry=1' })).status).toBe(422);
  expect((await refresh(host, { token: 'admin-token', query: '?dry' })).status).toBe(422);
  expect(host.asked).toEqual([]);
});

test('a refusal says what is wrong with the token and which variables hold one that would do', async () => {
  const host = await startRefreshHost({ tokens });
  const said = async (response: Response) =>
    [response.status, response.headers.get('www-authenticate'), ((await response.json()) as { detail: string }).detail] as const;
  const both = /MCP_AGENT_API_ADMIN_TOKEN.*MCP_AGENT_API_REFRESH_TOKENS/;
  expect(await said(await refresh(host, {}))).toEqual([401, 'Bearer', expect.stringMatching(/^A token is needed/)]);
  const unknown = await said(await refresh(host, { token: 'mistyped' }));
  expect(unknown).toEqual([
    401,
    'Bearer error="invalid_token"',
    expect.stringMatching(/^A token was sent, but the service does not know it/),
  ]);
  expect(unknown[2]).toMatch(both);
  const basic = await fetch(`${host.url}/refresh`, { headers: { authorization: 'Basic eDp5' } });
  expect(await said(basic)).toEqual([401, 'Bearer', expect.stringMatching(/holds no bearer token/)]);
  expect((await said(await refresh(host, { token: 'user-token' })))[2]).toMatch(both);
  expect((await said(await refresh(host, { token: 'kb-token' })))[2]).toContain('names no toolset');
  expect((await said(await refresh(host, { token: 'kb-token', body: { toolset: 'web' } })))[2]).toMatch(/"kb" only, not for "web"/);
  const approve = await fetch(`${host.url}/refresh/held/x/approve`, { method: 'POST', headers: bearer('kb-token') });
  expect((await said(approve))[2]).toBe("A toolset's token is good for refreshing only.");

  const withoutAdmin = await startRefreshHost({ tokens: { refresh: tokens.refresh } });
  const detail = (await said(await refresh(withoutAdmin, { token: 'mistyped' })))[2];
  expect(detail).toMatch(/^The token that was sent may not do this\. .*MCP_AGENT_API_REFRESH_TOKENS.*MCP_AGENT_API_ADMIN_TOKEN/);
});

test('a refresh of a toolset that there is not names those that there are, the likeliest first', async () => {
  const host = await startRefreshHost({ tokens });
  const answer = await refresh(host, { token: 'admin-token', body: { toolset: 'nobody' } });
  expect(await answer.json()).toMatchObject({ code: 'unknown_toolset', detail: 'The index names no toolset "nobody". It names: kb, web.' });
});

test('without an admin token the answer names the variable to set', async () => {
  const host = await startRefreshHost({});
  const response = await refresh(host, {});
  expect(response.status).toBe(403);
  expect(await response.text()).toContain('MCP_AGENT_API_ADMIN_TOKEN');
});

test('a host decides itself who is an administrator', async () => {
  const host = await startRefreshHost({ isAdmin: (req) => req.get('x-role') === 'admin' });
  expect((await refresh(host, {})).status).toBe(403);
  const response = await fetch(`${host.url}/refresh`, { method: 'POST', headers: { 'x-role': 'admin' } });
  expect(await response.json()).toMatchObject({ error: { message: error.message } });
});
