import { startFleet, tool } from '../flows/fleet.js';
import type { Answer } from '../support/raw-answers.js';
import { startRawToolset } from '../support/raw-toolset.js';
import { callShown, connectionsOf, resultsOf } from './shown-tools.js';

const MB = 1024 * 1024;

test('B88: a description of 100 kB and a schema of 500 kB withhold their tool and nothing else; what is just below the bounds is shown', async () => {
  const enumOf = (bytes: number) => ({
    type: 'object',
    properties: { p: { enum: Array.from({ length: bytes / 100 }, (_, index) => `${index}-`.padEnd(97, 'x')) } },
  });
  const toolset = await startRawToolset({
    tools: [
      tool('long', 'x'.repeat(100_000)),
      tool('wide', 'ü'.repeat(40_000)),
      { ...tool('heavy', 'h'), inputSchema: enumOf(500_000) },
      tool('fits', 'y'.repeat(60_000)),
      { ...tool('large', 'l'), inputSchema: enumOf(200_000) },
    ],
  });
  const other = await startRawToolset({ tools: [tool('b', 'one')] });
  const fleet = await startFleet({ kb: toolset.url, other: other.url });
  expect(Object.keys(await fleet.shown())).toEqual(['fits', 'large', 'b']);
  const { withheld } = await connectionsOf(fleet);
  expect(withheld.map(({ tool: name, reason }) => [name, reason.replace(/\d+/, 'N')])).toEqual([
    ['heavy', expect.stringContaining('inputSchema has N bytes')],
    ['long', expect.stringContaining('description has N bytes')],
    ['wide', expect.stringContaining('description has N bytes')],
  ]);
});

test('B88: 5 000 tools are shown beside those of others, and one more makes the list too large', async () => {
  const many = (count: number) => Array.from({ length: count }, (_, index) => tool(`t${index}`, 'one of many'));
  const toolset = await startRawToolset({ tools: many(5_000), pageSize: 500 });
  const other = await startRawToolset({ tools: [tool('b', 'one')] });
  const fleet = await startFleet({ kb: toolset.url, other: other.url });
  expect(Object.keys(await fleet.shown())).toHaveLength(5_001);
  toolset.tools = many(5_001);
  toolset.push();
  expect((await fleet.untilState('kb', 'failing')).error?.code).toBe('LIST_TOO_LARGE');
  expect(Object.keys(await fleet.shown())).toHaveLength(5_001);
});

test.each([
  ['in one page', 0],
  ['in pages', 1],
])('a tool with 100 000 nested levels is withheld, and the others live (%s)', async (_, pageSize) => {
  const levels = 100_000;
  const deep = `{"name":"deep","inputSchema":{"type":"object","default":${'['.repeat(levels)}${']'.repeat(levels)}}}`;
  const toolset = await startRawToolset({ tools: [] });
  const entries = [JSON.stringify(tool('first', 'one')), deep, JSON.stringify(tool('last', 'one'))];
  toolset.on('tools/list', ({ response, id, params }) => {
    const at = Number(params.cursor ?? 0);
    const [tools, next] = pageSize === 0 ? [entries.join(), ''] : [entries[at], at < 2 ? `,"nextCursor":"${at + 1}"` : ''];
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"tools":[${tools}]${next}}}`);
  });
  const fleet = await startFleet({ kb: toolset.url });
  expect(Object.keys(await fleet.shown())).toEqual(['first', 'last']);
  expect((await connectionsOf(fleet)).withheld).toEqual([{ toolset: 'kb', tool: 'deep', reason: expect.stringContaining('deeper than') }]);
  expect((await callShown(fleet, [{ name: 'first' }])).text).toBe('done');
});

test('an answer of a tool call with 100 000 nested levels becomes an error that the model sees, and the thread goes on', async () => {
  const levels = 100_000;
  const deep = `${'['.repeat(levels)}${']'.repeat(levels)}`;
  const toolset = await startRawToolset({ tools: [tool('structured', 'one'), tool('meta', 'one'), tool('fine', 'one')] });
  const answer =
    (fields: string) =>
    (): Answer =>
    ({ response, id }) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"content":[{"type":"text","text":"ok"}],${fields}}}`);
    };
  toolset.calls.set('structured', answer(`"structuredContent":{"deep":${deep}}`));
  toolset.calls.set('meta', answer(`"_meta":{"deep":${deep}}`));
  const fleet = await startFleet({ kb: toolset.url });
  const turn = await callShown(fleet, [{ name: 'structured' }, { name: 'meta' }, { name: 'fine' }], 'thread');
  expect(turn.text).toBe('done');
  expect(resultsOf(turn).filter((text) => text.startsWith('Error'))).toHaveLength(2);
  expect((await callShown(fleet, [{ name: 'fine' }], 'thread')).text).toBe('done');
});

test('instructions of 10 MB are cut to 16 kB for the model (6.5)', async () => {
  const toolset = await startRawToolset({ tools: [tool('a', 'one')], instructions: `Be quick. ${'é'.repeat(5 * MB)}` });
  const fleet = await startFleet({ kb: toolset.url });
  expect(await fleet.shown()).toEqual({ a: 'one' });
  expect(Buffer.byteLength(String(fleet.model.requests.at(-1)?.text))).toBeLessThan(20_000);
  expect(fleet.model.requests.at(-1)?.text).toContain('Be quick. éé');
});
