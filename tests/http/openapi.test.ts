import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { createParser } from 'eventsource-parser';
import express from 'express';
import { describeRoutes } from '../../src/http/openapi.js';
import { createRouter } from '../../src/http/router.js';
import { type Fleet, startFleet, tool } from '../flows/fleet.js';
import { sqliteLocation } from '../store/open.js';
import { serveLoopback } from '../support/loopback-server.js';
import { startRawToolset } from '../support/raw-toolset.js';
import { beginTurn } from '../support/run-client.js';
import { startSdkToolset } from '../support/sdk-toolset.js';
import { until } from '../support/until.js';
import { startAgentHost } from './agent-host.js';

interface Operation {
  readonly operationId: string;
  readonly parameters?: readonly { readonly name: string; readonly in: string }[];
  readonly security: readonly Record<string, unknown>[];
  readonly responses: Readonly<Record<string, { readonly content: Readonly<Record<string, unknown>> }>>;
}

interface Document {
  readonly openapi: string;
  readonly servers: readonly { readonly url: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, unknown>> };
}

const USER = { authorization: 'Bearer user-token' };
const ADMIN = { authorization: 'Bearer admin-token' };
const KB = { authorization: 'Bearer kb-token' };
const JSON_TYPE = { 'content-type': 'application/json' };

/** Checks answers against the document: the status, the media type and the body have to be described there. */
function judge(document: Document) {
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  (formats as unknown as (ajv: Ajv2020) => void)(ajv);
  ajv.addSchema(document, 'document');
  const pointer = (...keys: string[]) => keys.map((key) => `/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
  return async (response: Response, { method, route }: { method: string; route: string }): Promise<void> => {
    const place = `${method} ${route} ${response.status}`;
    const described = document.paths[route]?.[method]?.responses[String(response.status)];
    if (described === undefined) throw new Error(`${place} is not described.`);
    const type = response.headers.get('content-type')?.split(';')[0] ?? '';
    if (described.content[type] === undefined) throw new Error(`${place} answers ${type}, which is not described.`);
    const at = pointer('paths', route, method, 'responses', String(response.status), 'content', type, 'schema');
    const validate = ajv.getSchema(`document#${encodeURI(at)}`);
    if (validate === undefined) throw new Error(`${place} has no schema at ${at}.`);
    const text = route === '/refresh/events' ? await beginningOf(response) : await response.text();
    const bodies = type === 'text/event-stream' ? eventsOf(text) : [type === 'application/json' ? JSON.parse(text) : text];
    expect(bodies.length).toBeGreaterThan(0);
    for (const body of bodies)
      if (!validate(body)) throw new Error(`${place} does not fit: ${JSON.stringify(validate.errors)} in ${JSON.stringify(body)}`);
  };
}

/** The first events of a stream that never ends. */
async function beginningOf(response: Response): Promise<string> {
  let text = '';
  for await (const chunk of response.body ?? []) {
    text += Buffer.from(chunk).toString();
    // Leaving the loop closes the connection.
    if (text.includes('data:') && text.endsWith('\n\n')) break;
  }
  return text;
}

function eventsOf(text: string): unknown[] {
  const events: unknown[] = [];
  createParser({ onEvent: ({ data }) => events.push(JSON.parse(data)) }).feed(text);
  return events;
}

async function startDescribed(): Promise<{ fleet: Fleet; document: Document; check: ReturnType<typeof judge> }> {
  const kb = await startSdkToolset({
    era: 'legacy',
    tools: [
      { ...tool('search', 'Searches.'), _meta: { ui: { resourceUri: 'ui://kb/app' } } },
      { ...tool('long', 'x'.repeat(70_000)) },
      { ...tool('broken', 'Has a view that is not there.'), _meta: { ui: { resourceUri: 'ui://kb/broken' } } },
    ],
    resources: [{ uri: 'ui://kb/app', text: '<p>Found</p>' }],
  });
  const web = await startRawToolset({ tools: [tool('open', 'Opens.')] });
  const guide = await startRawToolset({ tools: [tool('guide', 'Guides.')] });
  const env = {
    MCP_AGENT_API_TOKEN: 'user-token',
    MCP_AGENT_API_REFRESH_TOKENS: 'kb=kb-token',
    MCP_AGENT_API_REVIEW: 'web,guide',
    MCP_AGENT_CHECKPOINT: await sqliteLocation(),
  };
  const fleet = await startFleet({ kb: kb.url, web: web.url, guide: guide.url }, { env });
  await web.close();
  await fleet.untilState('web', 'failing');
  const response = await fetch(`${fleet.baseUrl}/openapi.json`, { headers: USER });
  const document = (await response.json()) as Document;
  return { fleet, document, check: judge(document) };
}

const run = (text: string) => ({
  method: 'POST',
  headers: { ...USER, ...JSON_TYPE },
  body: JSON.stringify({ threadId: 't1', runId: 'r1', messages: [{ id: 'm1', role: 'user', content: text }] }),
});

/** The fingerprint of each toolset's change that waits, by name. */
async function heldFingerprints(fleet: Fleet): Promise<ReadonlyMap<string, string>> {
  const { toolsets } = await fleet.status();
  return new Map(toolsets.flatMap(({ name, held }) => (held === null ? [] : [[name, held.fingerprint]])));
}

/** `{web}` in a path stands for the fingerprint of the change of that toolset that waits. */
function withFingerprints(path: string, held: ReadonlyMap<string, string>): string {
  return path.replace(/\{(\w+)\}/g, (_, name: string) => held.get(name) ?? 'missing');
}

/** One call of every route that succeeds; the test below says when one is missing. */
const SUCCESSES: readonly (readonly [method: string, route: string, path: string, init?: RequestInit])[] = [
  ['get', '/health/liveness', '/health/liveness'],
  ['get', '/health/readiness', '/health/readiness'],
  ['post', '/runs', '/runs', run('search')],
  ['get', '/threads/{id}', '/threads/t1', { headers: USER }],
  ['get', '/threads/{id}/turns', '/threads/t1/turns?limit=1', { headers: USER }],
  ['get', '/connections', '/connections', { headers: USER }],
  ['get', '/views/{toolset}/{view}', '/views/kb/app', { headers: USER }],
  ['get', '/refresh', '/refresh', { headers: USER }],
  ['get', '/refresh', '/refresh', { headers: KB }],
  ['get', '/refresh', '/refresh', { headers: ADMIN }],
  ['post', '/refresh', '/refresh', { method: 'POST', headers: ADMIN }],
  ['post', '/refresh', '/refresh', { method: 'POST', headers: { ...KB, ...JSON_TYPE }, body: '{"toolset":"kb"}' }],
  ['post', '/refresh', '/refresh?dry=true', { method: 'POST', headers: ADMIN }],
  ['get', '/refresh/events', '/refresh/events?lastEventId=0', { headers: USER }],
  ['get', '/refresh/held/{fingerprint}', '/refresh/held/{web}', { headers: ADMIN }],
  ['post', '/refresh/held/{fingerprint}/approve', '/refresh/held/{web}/approve', { method: 'POST', headers: ADMIN }],
  ['post', '/refresh/held/{fingerprint}/reject', '/refresh/held/{guide}/reject', { method: 'POST', headers: ADMIN }],
  ['get', '/generations', '/generations', { headers: USER }],
  ['get', '/generations/{number}', '/generations/1', { headers: USER }],
  ['get', '/metrics', '/metrics', { headers: USER }],
  ['get', '/openapi.json', '/openapi.json', { headers: USER }],
];

const PROBLEMS: readonly (readonly [status: number, method: string, route: string, path: string, init?: RequestInit])[] = [
  [401, 'get', '/connections', '/connections'],
  [401, 'get', '/metrics', '/metrics'],
  [401, 'post', '/runs', '/runs', { method: 'POST' }],
  [401, 'get', '/refresh', '/refresh'],
  [403, 'get', '/threads/{id}', '/threads/t1', { headers: KB }],
  [403, 'post', '/refresh', '/refresh', { method: 'POST', headers: USER }],
  [404, 'get', '/threads/{id}', '/threads/nobody', { headers: USER }],
  [404, 'post', '/refresh', '/refresh', { method: 'POST', headers: { ...ADMIN, ...JSON_TYPE }, body: '{"toolset":"nobody"}' }],
  [422, 'post', '/refresh', '/refresh?dry=perhaps', { method: 'POST', headers: ADMIN }],
  [401, 'get', '/refresh/events', '/refresh/events'],
  [403, 'get', '/refresh/held/{fingerprint}', '/refresh/held/{web}', { headers: KB }],
  [404, 'get', '/refresh/held/{fingerprint}', '/refresh/held/nothing', { headers: ADMIN }],
  [403, 'post', '/refresh/held/{fingerprint}/approve', '/refresh/held/{web}/approve', { method: 'POST', headers: USER }],
  [404, 'post', '/refresh/held/{fingerprint}/approve', '/refresh/held/nothing/approve', { method: 'POST', headers: ADMIN }],
  [404, 'post', '/refresh/held/{fingerprint}/reject', '/refresh/held/nothing/reject', { method: 'POST', headers: ADMIN }],
  [404, 'get', '/generations/{number}', '/generations/999', { headers: USER }],
  [422, 'get', '/generations/{number}', '/generations/first', { headers: USER }],
  [401, 'get', '/views/{toolset}/{view}', '/views/kb/app'],
  [404, 'get', '/views/{toolset}/{view}', '/views/kb/nothing', { headers: USER }],
  [502, 'get', '/views/{toolset}/{view}', '/views/kb/broken', { headers: USER }],
  [422, 'get', '/threads/{id}', '/threads/%00', { headers: USER }],
  [404, 'get', '/threads/{id}/turns', '/threads/nobody/turns', { headers: USER }],
  [422, 'get', '/threads/{id}/turns', '/threads/t1/turns?limit=0', { headers: USER }],
  [400, 'post', '/runs', '/runs', { method: 'POST', headers: { ...USER, ...JSON_TYPE }, body: '{' }],
  [413, 'post', '/runs', '/runs', { method: 'POST', headers: { ...USER, ...JSON_TYPE }, body: ' '.repeat(10 * 1024 * 1024 + 1) }],
  [415, 'post', '/runs', '/runs', { method: 'POST', headers: USER, body: 'hello' }],
  [422, 'post', '/runs', '/runs', { method: 'POST', headers: { ...USER, ...JSON_TYPE }, body: '{}' }],
  [409, 'post', '/runs', '/runs', run('while the first one hangs')],
];

test('every route answers as the document at /openapi.json says, and none is left out', async () => {
  const { fleet, document, check } = await startDescribed();
  fleet.model.reply(({ body }) =>
    body.messages.at(-1)?.role === 'user' ? { text: 'Let me see', toolCalls: [{ name: 'search', args: {} }] } : { text: 'Found' },
  );
  const held = await heldFingerprints(fleet);
  const called = new Set<string>();
  for (const [method, route, path, init] of SUCCESSES) {
    const response = await fetch(fleet.baseUrl + withFingerprints(path, held), init);
    expect([method, route, response.status]).toEqual([method, route, 200]);
    await check(response, { method, route });
    called.add(`${method} ${route}`);
  }
  const described = Object.entries(document.paths).flatMap(([route, methods]) =>
    Object.keys(methods).map((method) => `${method} ${route}`),
  );
  expect([...called].sort()).toEqual(described.sort());
});

test('every refusal has the shape that the document describes', async () => {
  const { fleet, check } = await startDescribed();
  fleet.model.reply(() => ({ hang: true }));
  const hanging = await beginTurn(fleet.baseUrl, { text: 'hang', threadId: 't1', headers: USER });
  await until(() => fleet.model.requests.length === 1);
  const held = await heldFingerprints(fleet);
  for (const [status, method, route, path, init] of PROBLEMS) {
    const response = await fetch(fleet.baseUrl + withFingerprints(path, held), init);
    expect([method, route, response.status]).toEqual([method, route, status]);
    await check(response, { method, route });
  }
  hanging.leave();
});

test('before the first generation, 503 has the shape that the document describes', async () => {
  const host = await startAgentHost({ empty: true });
  const check = judge(describeRoutes({ basePath: '/', usersSendToken: false }) as Document);
  for (const [method, route, path, init] of SUCCESSES) {
    if (!/runs|threads|connections|views|readiness/.test(route)) continue;
    const response = await fetch(host.url + path, init);
    expect([route, response.status]).toEqual([route, 503]);
    await check(response, { method, route });
  }
});

test('every reference leads somewhere, every path parameter is described, and operations have names of their own', () => {
  const document = describeRoutes({ basePath: '/', usersSendToken: true }) as Document;
  expect(document.openapi).toMatch(/^3\.1\./);
  const names = [...JSON.stringify(document).matchAll(/"\$ref":"([^"]*)"/g)].map(([, ref = '']) =>
    ref.replace('#/components/schemas/', ''),
  );
  expect(names.length).toBeGreaterThan(10);
  expect(names.filter((name) => document.components.schemas[name] === undefined)).toEqual([]);
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.values(methods).map((operation) => ({ path, operation })),
  );
  expect(new Set(operations.map(({ operation }) => operation.operationId)).size).toBe(operations.length);
  for (const { path, operation } of operations) {
    const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
    expect(operation.parameters?.filter((parameter) => parameter.in === 'path').map(({ name }) => name) ?? []).toEqual(inPath);
    expect(operation.security).toEqual(path.startsWith('/health') ? [] : [{ bearer: [] }]);
  }
  const events = document.components.schemas.Event as { oneOf: readonly { properties: { type: { const: string } } }[] };
  const types = events.oneOf.map(({ properties }) => properties.type.const);
  for (const type of ['RUN_STARTED', 'TEXT_MESSAGE_CONTENT', 'TOOL_CALL_RESULT', 'ACTIVITY_SNAPSHOT', 'MESSAGES_SNAPSHOT', 'RUN_ERROR'])
    expect(types).toContain(type);
});

test('a host that mounts the router gets a document that names the place', async () => {
  const app = express();
  app.use(
    '/agent',
    createRouter(() => undefined),
  );
  const { origin } = await serveLoopback((req, res) => app(req, res));
  const document = (await (await fetch(`${origin}/agent/openapi.json`)).json()) as Document;
  expect(document.servers).toEqual([{ url: '/agent' }]);
  expect(document.paths['/connections']?.get?.security).toEqual([{}, { bearer: [] }]);
});
