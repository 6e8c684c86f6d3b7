import { having, startFleet, tool } from '../flows/fleet.js';
import { startRawToolset } from '../support/raw-toolset.js';
import { relist, reordered, SEARCH, toolsText } from './relisting.js';

const NO_POLL = { MCP_AGENT_API_REFRESH_SECONDS: '0', MCP_AGENT_API_DEBOUNCE_MS: '20' };

type Search = typeof SEARCH;

describe.each(['legacy', 'modern'] as const)('a list that says the same in another way (%s)', (era) => {
  test('B118: with other key order, white space, escapes or spelling of numbers is no change', async () => {
    const toolset = await startRawToolset({ era, tools: [SEARCH] });
    const fleet = await startFleet({ toolset: toolset.url }, { env: NO_POLL });
    const agent = fleet.app.refresher.current?.agent;
    const spellings: ((tools: unknown) => string)[] = [
      (tools) => JSON.stringify(tools, null, 4),
      (tools) => JSON.stringify(tools).replaceAll('Searches.', '\\u0053earche\\u0073\\u002e'),
      (tools) => JSON.stringify(tools).replace('"maximum":100', '"maximum":1e2').replace('"minimum":1', '"minimum":1.0'),
      (tools) => JSON.stringify(tools).replace('"maximum":100', '"maximum":100.000').replace('"minimum":1', '"minimum":10E-1'),
      ...[1, 2, 3].map((turn) => (tools: unknown) => JSON.stringify(reordered(tools, turn))),
    ];
    for (const spell of spellings) {
      const text = spell(toolset.tools);
      expect(text).not.toBe(JSON.stringify(toolset.tools));
      toolset.once('tools/list', ({ id, response }) => {
        const rest = era === 'modern' ? '"resultType":"complete","ttlMs":0,"cacheScope":"private",' : '';
        response
          .writeHead(200, { 'content-type': 'application/json' })
          .end(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{${rest}"tools":${text}}}`);
      });
      await relist(fleet);
    }
    expect(having(fleet.rounds(), 'unchanged')).toHaveLength(spellings.length);
    expect(fleet.app.refresher.current?.agent).toBe(agent);
  });
});

describe('a change behind the same name', () => {
  const patched = (change: (schema: Search['inputSchema']) => unknown): Search => {
    const copy = structuredClone(SEARCH);
    change(copy.inputSchema);
    return copy;
  };

  const CHANGES: [string, unknown, string][] = [
    ['the description', { ...SEARCH, description: 'Searches well.' }, 'Searches well.'],
    ["a property's description", patched(({ properties }) => (properties.q.description = 'The words')), 'The words'],
    ['a type', patched(({ properties }) => (properties.limit.type = 'number')), '"number","minimum":1,"maximum":100'],
    ['required', patched((schema) => schema.required.pop()), '"required":["q"]'],
    ['an enum', patched(({ properties }) => properties.q.enum.push('c')), '"enum":["a","b","c"]'],
    ['a default', patched(({ properties }) => (properties.q.default = 'b')), '"default":"b"'],
    // What is allowed anyway need not be said to a provider.
    ['additionalProperties', patched((schema) => (schema.additionalProperties = true)), '"required":["q","limit"]}'],
    [
      'a property deep inside',
      patched(({ properties }) => (properties.where.properties.depth.type = 'integer')),
      '"depth":{"type":"integer"',
    ],
  ];

  test('B120: of any text, type or rule of the schema is one swap, and the model is sent the new text', async () => {
    const toolset = await startRawToolset({ tools: [SEARCH, tool('other', 'one')] });
    const fleet = await startFleet({ toolset: toolset.url }, { env: NO_POLL });
    for (const [count, [what, changed, text]] of CHANGES.entries()) {
      expect([what, (await toolsText(fleet)).includes(text)]).toEqual([what, false]);
      toolset.tools = [changed, tool('other', 'one')];
      await relist(fleet);
      expect([what, having(fleet.rounds(), 'swapped').length]).toEqual([what, count + 2]);
      expect(await toolsText(fleet)).toContain(text);
    }
  });

  test('B121: of the view, an annotation, the output schema or the title is a swap', async () => {
    const toolset = await startRawToolset({ tools: [SEARCH] });
    const fleet = await startFleet({ toolset: toolset.url }, { env: NO_POLL });
    const changes = {
      view: { ...SEARCH, _meta: { ui: { resourceUri: 'ui://kb/two' } } },
      annotation: { ...SEARCH, annotations: { readOnlyHint: false, idempotentHint: true } },
      output: { ...SEARCH, outputSchema: { type: 'object' } },
      title: { ...SEARCH, title: 'Find' },
    };
    for (const [what, changed] of Object.entries(changes)) {
      toolset.tools = [changed];
      await relist(fleet);
      expect([what, (await fleet.status()).last]).toMatchObject([what, { outcome: 'swapped', changes: { changed: ['search'] } }]);
    }
  });

  test('B121: of icons, of other `_meta` and of unknown fields, at every list, is no swap', async () => {
    const toolset = await startRawToolset({ tools: [SEARCH] });
    const fleet = await startFleet({ toolset: toolset.url }, { env: NO_POLL });
    const agent = fleet.app.refresher.current?.agent;
    for (let count = 1; count <= 5; count += 1) {
      toolset.tools = [
        { ...SEARCH, icons: [{ src: `https://example.com/${count}.png` }], _meta: { ...SEARCH._meta, deployedAt: count }, count },
      ];
      toolset.serverInfo = { name: 'raw', version: `1.0.${count}` };
      await relist(fleet);
    }
    expect(having(fleet.rounds(), 'unchanged')).toHaveLength(5);
    expect(fleet.app.refresher.current?.agent).toBe(agent);
  });
});
