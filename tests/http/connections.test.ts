import { shownTools } from '../support/model-server.js';
import { runTurn } from '../support/run-client.js';
import { startAgentHost } from './agent-host.js';

test('connections show what the model is shown, word for word', async () => {
  const host = await startAgentHost({
    toolsets: [
      {
        name: 'kb',
        credentialHeaders: ['x-demo-token', 'x-fallback', 'x-missing'],
        tools: [
          {
            name: 'search',
            description: 'Finds\u200b pages.',
            inputSchema: { $schema: 'x', type: 'object', properties: { q: { $ref: '#/$defs/q' } }, $defs: { q: { type: 'string' } } },
          },
          { name: 'a.b', title: 'Dotted' },
          { name: 'both' },
        ],
      },
      { name: 'web', tools: [{ name: 'both', description: 'Of the web.' }] },
    ],
    router: { environment: { X_FALLBACK: 'value' } },
  });
  const shown = (await (await fetch(`${host.url}/connections`, { headers: { 'x-demo-token': 't' } })).json()) as {
    toolsets: unknown[];
    tools: { name: string; description: string; parameters: unknown }[];
  };
  await runTurn(host.url, { text: 'hi' });
  expect(shown.tools.map(({ name, description, parameters }) => ({ name, description, parameters }))).toEqual(
    shownTools(host.model.requests[0]),
  );
  expect(shown.tools).toContainEqual({
    name: 'search',
    toolset: 'kb',
    original: 'search',
    description: 'Finds pages.',
    parameters: { type: 'object', properties: { q: { type: 'string' } } },
  });
  expect(shown.tools.map(({ name }) => name)).toEqual(['a_b', 'kb__both', 'search', 'web__both']);
  expect(shown.tools[0]).toMatchObject({ original: 'a.b', description: 'Dotted' });
  expect(shown.toolsets).toEqual([
    {
      name: 'kb',
      credentials: [
        { header: 'x-demo-token', supplied: true },
        { header: 'x-fallback', supplied: true },
        { header: 'x-missing', supplied: false },
      ],
    },
    { name: 'web', credentials: [] },
  ]);
});

test('connections show every withheld tool with its reason', async () => {
  const host = await startAgentHost({
    toolsets: [{ name: 'kb', tools: [{ name: 'good' }, { name: 'long', description: 'x'.repeat(70_000) }] }],
  });
  const shown = (await (await fetch(`${host.url}/connections`)).json()) as { withheld: unknown[] };
  expect(shown.withheld).toEqual([{ toolset: 'kb', tool: 'long', reason: expect.any(String) }]);
});

test('a page of an allowed origin may send the declared headers and read the generation; other origins get nothing', async () => {
  const host = await startAgentHost({
    toolsets: [{ name: 'kb', tools: [], credentialHeaders: ['x-demo-token'] }],
    router: { corsOrigins: ['https://app.example'], tokens: { api: 'token' } },
  });
  const preflight = (origin: string) =>
    fetch(`${host.url}/runs`, { method: 'OPTIONS', headers: { origin, 'access-control-request-method': 'POST' } });
  const allowed = await preflight('https://app.example');
  expect(allowed.status).toBe(204);
  expect(allowed.headers.get('access-control-allow-origin')).toBe('https://app.example');
  expect(allowed.headers.get('access-control-allow-headers')).toContain('x-demo-token');
  const headers = { origin: 'https://app.example', authorization: 'Bearer token' };
  expect((await fetch(`${host.url}/connections`, { headers })).headers.get('access-control-expose-headers')).toBe('x-agent-generation');
  expect((await preflight('https://evil.example')).headers.get('access-control-allow-origin')).toBeNull();
});

test('without configured origins there is no CORS header', async () => {
  const host = await startAgentHost();
  const response = await fetch(`${host.url}/connections`, { headers: { origin: 'https://app.example' } });
  expect([...response.headers.keys()].filter((name) => name.startsWith('access-control') || name === 'vary')).toEqual([]);
});
