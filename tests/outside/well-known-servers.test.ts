import { readdirSync, readFileSync } from 'node:fs';
import { geminiSchema } from '../../src/core/gemini-schema.js';
import { projectSchema } from '../../src/core/tool-schema.js';
import { startFleet } from '../flows/fleet.js';
import { shownTools } from '../support/model-server.js';
import { type RawToolset, startRawToolset } from '../support/raw-toolset.js';
import { runTurn } from '../support/run-client.js';
import { refusalOf } from '../support/strict-provider.js';

type Json = Record<string, unknown>;

/** The tool list of a server that many people run, as `npm run record-well-known` got it from the server itself. */
interface Recorded {
  readonly package: string;
  readonly version: string;
  readonly instructions?: string;
  readonly tools: readonly { readonly name: string; readonly description?: string; readonly inputSchema: Json }[];
}

const folder = new URL('../../fixtures/well-known/tools/', import.meta.url);
const servers = readdirSync(folder).map((file): readonly [string, Recorded] => [
  file.replace('.json', ''),
  JSON.parse(readFileSync(new URL(file, folder), 'utf8')),
]);

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

interface Said {
  /** The path of each property, in the names that providers accept. */
  readonly paths: Set<string>;
  /** Every string that is listed as a value. */
  readonly values: Set<string>;
}

/** What a schema says at every depth, through references and unions. A schema inside itself ends a path. */
function saidBy(root: Json): Said {
  const said: Said = { paths: new Set(), values: new Set() };
  const visit = (schema: unknown, path: string, above: readonly unknown[]): void => {
    if (!isObject(schema) || above.includes(schema)) return;
    const inside = [...above, schema];
    for (const value of [schema.const, schema.enum].flat()) if (typeof value === 'string') said.values.add(value);
    if (typeof schema.$ref === 'string') {
      const tokens = schema.$ref.replace(/^#\/?/, '').split('/').filter(Boolean);
      const target = tokens.reduce<unknown>((place, token) => (isObject(place) ? place[token] : undefined), root);
      visit(target, path, inside);
    }
    for (const part of [schema.anyOf, schema.oneOf, schema.allOf].flat()) visit(part, path, inside);
    for (const item of [schema.items, schema.prefixItems].flat()) visit(item, `${path}[]`, inside);
    visit(schema.additionalProperties, `${path}{}`, inside);
    if (!isObject(schema.properties)) return;
    for (const [name, property] of Object.entries(schema.properties)) {
      const below = `${path}/${name.replace(/[^\w.-]/g, '_')}`;
      said.paths.add(below);
      visit(property, below, inside);
    }
  };
  visit(root, '', []);
  return said;
}

test('at least ten servers are recorded, each with tools', () => {
  expect(servers.length).toBeGreaterThanOrEqual(10);
  for (const [, { tools }] of servers) expect(tools.length).toBeGreaterThan(0);
});

describe.each(servers)('the tools of %s (6.3)', (_, { tools }) => {
  test.each(tools.map(({ name, inputSchema }) => [name, inputSchema] as const))(
    '%s keeps its properties and values, and strict providers accept it',
    (__, inputSchema) => {
      const { schema } = projectSchema(inputSchema);
      expect(refusalOf(schema)).toBeUndefined();
      expect(refusalOf(geminiSchema(schema), 'gemini')).toBeUndefined();
      const [raw, shown] = [saidBy(inputSchema), saidBy(schema)];
      expect([...raw.paths].filter((path) => !shown.paths.has(path))).toEqual([]);
      expect([...raw.values].filter((value) => !shown.values.has(value))).toEqual([]);
    },
  );
});

test('all of them together are shown to a strict provider in one request, none is withheld, and calls arrive in their own words', async () => {
  const toolsets = new Map<string, RawToolset>();
  for (const [name, { tools, instructions }] of servers)
    toolsets.set(name, await startRawToolset({ era: name < 'g' ? 'legacy' : 'modern', tools, instructions, pageSize: 10 }));
  const fleet = await startFleet(Object.fromEntries([...toolsets].map(([name, { url }]) => [name, url])));
  const shownPipeline = [{ _vectorSearch: { index: 'i', path: 'p' } }, { $match: { a: 1 } }];
  fleet.model.reply(({ number }) =>
    number === 0
      ? { toolCalls: [{ name: 'aggregate', args: { database: 'd', collection: 'c', pipeline: shownPipeline } }] }
      : { text: 'done' },
  );
  const turn = await runTurn(fleet.baseUrl, { text: 'Search.' });
  expect(turn.text).toBe('done');
  const shown = shownTools(fleet.model.requests[0]);
  expect(shown).toHaveLength(servers.reduce((sum, [, { tools }]) => sum + tools.length, 0));
  expect(toolsets.get('mongodb')?.received.map(({ tool, args }) => [tool, args.pipeline])).toEqual([
    ['aggregate', [{ $vectorSearch: { index: 'i', path: 'p' } }, { $match: { a: 1 } }]],
  ]);
  const connections = (await (await fetch(new URL('/connections', fleet.baseUrl))).json()) as { withheld: unknown[]; tools: unknown[] };
  expect(connections.withheld).toEqual([]);
  expect(connections.tools).toHaveLength(shown.length);
});
