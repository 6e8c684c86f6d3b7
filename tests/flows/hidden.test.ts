import { respond } from '../support/raw-answers.js';
import { startRawToolset } from '../support/raw-toolset.js';
import { until } from '../support/until.js';
import { type Fleet, startFleet, tool } from './fleet.js';

const TOKENS = {
  MCP_AGENT_API_TOKEN: 'user-token',
  MCP_AGENT_API_REFRESH_TOKENS: 'kb=kb-token,web=web-token',
};

const ROUTES = ['/refresh', '/connections', '/metrics', '/openapi.json', '/health/readiness', '/health/liveness', '/threads/none'];

/** Everything that the routes answer to this token, refusals included. */
async function shownTo({ baseUrl }: Fleet, token: string | undefined): Promise<string> {
  const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const answers = await Promise.all(ROUTES.map(async (path) => (await fetch(baseUrl + path, { headers })).text()));
  const ask = (body: object) =>
    fetch(`${baseUrl}/refresh`, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  for (const body of [{}, { toolset: 'kb' }, { toolset: 'web' }, { toolset: 'none' }]) answers.push(await (await ask(body)).text());
  return answers.join('\n');
}

/** Every text that belongs to an error, wherever it stands. */
function errorTexts(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => (key === 'message' && typeof inner === 'string' ? [inner] : errorTexts(inner)));
}

/** A text as it stands in JSON, without the quotes around it. */
function asWritten(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

test('error texts and URLs are for administrators, and for a toolset its own; everybody else sees the codes (9.1)', async () => {
  const [kb, web, fine] = await Promise.all(['kb', 'web', 'fine'].map((name) => startRawToolset({ tools: [tool(name, 'one')] })));
  if (kb === undefined || web === undefined || fine === undefined) throw new Error('Three toolsets were started.');
  const fleet = await startFleet({ kb: kb.url, web: web.url, fine: fine.url }, { env: TOKENS });
  await until(async () => (await fleet.status()).toolsets.every(({ state }) => state === 'watching'));
  kb.on('tools/list', respond({ status: 418, body: 'the page of kb' }));
  web.on('tools/list', respond({ status: 451, body: 'the page of web' }));
  for (const toolset of [kb, web]) toolset.push();
  await fleet.untilState('kb', 'failing');
  await fleet.untilState('web', 'failing');
  fleet.index.answer(respond({ status: 500 }));
  await until(async () => (await fleet.status()).index.error !== null);

  const status = await fleet.status();
  const errorOf = (name: string) => asWritten(status.toolsets.find((toolset) => toolset.name === name)?.error?.message ?? '');
  expect([errorOf('kb'), errorOf('web'), status.index.error?.message]).toEqual([
    expect.stringContaining('418'),
    expect.stringContaining('451'),
    expect.stringContaining('500'),
  ]);
  const secretsOfAll = [
    ...errorTexts(status).map(asWritten),
    ...[kb, web, fine].map(({ port }) => `:${port}/`),
    `:${fleet.index.port}`,
    'the page of',
  ];
  const forAdmin = await shownTo(fleet, 'admin-token');
  expect([errorOf('kb'), errorOf('web'), `:${web.port}/`].filter((text) => !forAdmin.includes(text))).toEqual([]);
  // What a toolset answered is in no text at all.
  expect(forAdmin.includes('the page of')).toBe(false);

  for (const token of [undefined, 'wrong-token', 'user-token']) {
    const shown = await shownTo(fleet, token);
    expect(secretsOfAll.filter((text) => shown.includes(text))).toEqual([]);
  }
  const forUser = await shownTo(fleet, 'user-token');
  const codes = [status.index.error?.code, 'TOOLSET_REFUSED'].map((code) => `"code":"${code}"`);
  expect(codes.filter((code) => !forUser.includes(code))).toEqual([]);

  const forKb = await shownTo(fleet, 'kb-token');
  expect([errorOf('kb'), `:${kb.port}/`].filter((text) => !forKb.includes(text))).toEqual([]);
  const ofOthers = [errorOf('web'), status.index.error?.message ?? '', `:${web.port}/`, `:${fine.port}/`, `:${fleet.index.port}`];
  expect(ofOthers.filter((text) => forKb.includes(text))).toEqual([]);
});
