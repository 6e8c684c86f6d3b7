import { appendFileSync, chmodSync, mkdtempSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { Logger } from '../../src/core/ports.js';
import { openDefinitionsFolder } from '../../src/demo/definitions-folder.js';
import { type DemoToolsetName, type DemoToolsets, startDemoToolsets } from '../../src/demo/toolsets/demo-toolsets.js';
import { onCleanup } from '../support/cleanup.js';
import { copyShippedDefinitions } from '../support/shipped-demo.js';
import { until } from '../support/until.js';

interface Line {
  message: string;
  fields: Record<string, unknown>;
}

async function startCopy(): Promise<DemoToolsets & { lines: Line[] }> {
  const definitionsDir = mkdtempSync(join(tmpdir(), 'demo-test-'));
  onCleanup(() => rmSync(definitionsDir, { recursive: true }));
  copyShippedDefinitions(definitionsDir);
  const lines: Line[] = [];
  const write = (message: string, fields: Record<string, unknown> = {}) => void lines.push({ message, fields });
  const logger: Logger = { debug: write, info: write, warn: write, error: write };
  const toolsets = await startDemoToolsets({ definitionsDir, dataDir: 'demo/data', logger });
  onCleanup(() => toolsets.close());
  return { ...toolsets, lines };
}

async function connect(toolsets: DemoToolsets, name: DemoToolsetName) {
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: 'auto' } });
  let notified = 0;
  client.setNotificationHandler('notifications/tools/list_changed', () => {
    notified += 1;
  });
  await client.connect(new StreamableHTTPClientTransport(new URL(await urlOf(toolsets, name))));
  onCleanup(() => client.close());
  const text = async (tool: string, args: Record<string, unknown>) => {
    const result = await client.callTool({ name: tool, arguments: args });
    const [block] = result.content;
    return { text: block?.type === 'text' ? block.text : '', isError: result.isError === true };
  };
  const descriptions = async () => {
    const { tools } = await client.listTools(undefined, { cacheMode: 'bypass' });
    return Object.fromEntries(tools.map((tool) => [tool.name, tool.description]));
  };
  return { client, text, descriptions, notified: () => notified };
}

async function urlOf(toolsets: DemoToolsets, name: DemoToolsetName): Promise<string> {
  const index: unknown = await (await fetch(toolsets.indexUrl)).json();
  const { connections } = index as { connections: Record<DemoToolsetName, { url: string }> };
  expect(toolsets.urls[name]).toBe(connections[name].url);
  return connections[name].url;
}

/** A session of its own with its notification stream open for certain: the SDK's client returns before its stream is open. */
async function openStream(toolsets: DemoToolsets): Promise<ReadableStream<Uint8Array>> {
  const url = await urlOf(toolsets, 'knowledge-base');
  const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } };
  const opened = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params }),
  });
  await opened.text();
  const session = opened.headers.get('mcp-session-id') ?? '';
  const stream = await fetch(url, { headers: { accept: 'text/event-stream', 'mcp-session-id': session } });
  if (stream.status !== 200 || stream.body === null) throw new Error(`The stream was refused with ${stream.status}.`);
  return stream.body;
}

async function nextNotification(stream: ReadableStream<Uint8Array>): Promise<string> {
  let text = '';
  for await (const chunk of stream.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    if (text.includes('"method"') && text.endsWith('\n\n')) return text;
  }
  throw new Error(`The stream ended after ${JSON.stringify(text)}.`);
}

function edit(path: string, change: (text: string) => string): void {
  writeFileSync(path, change(readFileSync(path, 'utf8')));
}

const addAnnouncements = (text: string) => text.replace('Searches the manual and', 'Searches the manual and the announcements and');

test('the index names both toolsets, one of each protocol era', async () => {
  const toolsets = await startCopy();
  const index = await (await fetch(toolsets.indexUrl)).json();
  expect(index).toEqual({
    connections: {
      'knowledge-base': { transport: 'streamable_http', url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/knowledge-base\/mcp$/) },
      places: { transport: 'streamable_http', url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/places\/mcp$/) },
    },
  });
  const knowledge = await connect(toolsets, 'knowledge-base');
  const places = await connect(toolsets, 'places');
  expect(knowledge.client.getNegotiatedProtocolVersion()).toMatch(/^2025-/);
  expect(places.client.getNegotiatedProtocolVersion()).toBe('2026-07-28');
});

test('the shipped description of search_knowledge speaks of the manual and not of the announcements', async () => {
  const { descriptions } = await connect(await startCopy(), 'knowledge-base');
  const shipped = await descriptions();
  expect(Object.keys(shipped)).toEqual(['search_knowledge', 'read_section']);
  expect(shipped.search_knowledge).toContain('manual');
  expect(JSON.stringify(shipped)).not.toMatch(/announce/i);
});

test('the knowledge base answers from the document that the question names', async () => {
  const { text } = await connect(await startCopy(), 'knowledge-base');
  const refreshing = await text('search_knowledge', { query: 'What does the manual say about refreshing?' });
  expect(refreshing.text).toMatch(/^Refreshing \(from the manual\)/);
  expect(refreshing.text).not.toContain('from the announcements');
  const announcements = await text('search_knowledge', { query: 'Anything new in the announcements?' });
  expect(announcements.text).toContain('Descriptions count as changes (from the announcements)');
  expect(announcements.text).not.toContain('from the manual');
  expect((await text('search_knowledge', { query: 'interval', section: 'Polling' })).text).toMatch(/^Polling \(from the manual\)/);
  expect((await text('search_knowledge', { query: 'xylophone' })).text).toContain(
    'Nothing fits "xylophone". The sections are: Refreshing;',
  );
  expect((await text('read_section', { title: 'rounds' })).text).toMatch(/^Rounds \(from the manual\)/);
  expect(await text('read_section', { title: 'xylophone' })).toMatchObject({ isError: true });
  expect(await text('read_section', {})).toMatchObject({ isError: true });
});

test('places are found by name and by distance', async () => {
  const { text, descriptions } = await connect(await startCopy(), 'places');
  expect(Object.keys(await descriptions())).toEqual(['find_place', 'places_nearby']);
  expect((await text('find_place', { name: 'sao paulo' })).text).toBe('São Paulo, Brazil (-23.55, -46.63). The largest city of Brazil.');
  expect((await text('places_nearby', { name: 'Vienna', kilometres: 600 })).text).toBe(
    'Within 600 km of Vienna:\n- Prague, Czechia: 251 km\n- Berlin, Germany: 523 km\n- Zurich, Switzerland: 592 km',
  );
  expect((await text('places_nearby', { name: 'Sydney' })).text).toBe('I know no other place within 500 km of Sydney.');
  expect(await text('find_place', { name: 'Atlantis' })).toMatchObject({ isError: true, text: expect.stringContaining('Zurich') });
});

test('an unknown tool and an unknown session are refused as MCP asks for', async () => {
  const toolsets = await startCopy();
  for (const name of ['knowledge-base', 'places'] as const) {
    const { client } = await connect(toolsets, name);
    await expect(client.callTool({ name: 'no_such_tool' })).rejects.toThrow('Unknown tool: no_such_tool');
  }
  const lost = await fetch(await urlOf(toolsets, 'knowledge-base'), { method: 'POST', body: '{}', headers: { 'mcp-session-id': 'gone' } });
  expect(lost.status).toBe(404);
  const wrongPath = await fetch(new URL('/nothing', toolsets.indexUrl));
  expect(wrongPath.status).toBe(404);
});

test('saving the definition of the knowledge base changes the list in place and notifies its open session', async () => {
  const toolsets = await startCopy();
  const { descriptions } = await connect(toolsets, 'knowledge-base');
  const notification = nextNotification(await openStream(toolsets));
  edit(toolsets.files['knowledge-base'], addAnnouncements);
  expect(await notification).toContain('"method":"notifications/tools/list_changed"');
  expect((await descriptions()).search_knowledge).toContain('announcements');
  expect(toolsets.lines).toEqual([
    {
      message: 'demo toolset redeployed',
      fields: { file: 'knowledge-base.json', version: '1.0.0', tools: ['search_knowledge', 'read_section'] },
    },
  ]);
});

test('saving the definition of the places notifies its subscribers', async () => {
  const toolsets = await startCopy();
  const { client, descriptions, notified } = await connect(toolsets, 'places');
  await client.listen({ toolsListChanged: true });
  edit(toolsets.files.places, (text) => text.replace('find_place"', 'locate_place"'));
  await until(() => notified() === 1, { what: 'the notification' });
  expect(Object.keys(await descriptions())).toEqual(['locate_place', 'places_nearby']);
});

test('an editor that puts a new file in the place of the old one is noticed, every time', async () => {
  const toolsets = await startCopy();
  const { descriptions } = await connect(toolsets, 'places');
  const file = toolsets.files.places;
  for (const round of ['one', 'two', 'three']) {
    const text = readFileSync(file, 'utf8').replace(/"description": "Tells[^"]*"/, `"description": "Tells ${round}."`);
    writeFileSync(`${file}.swp`, text);
    renameSync(`${file}.swp`, file);
    await until(async () => (await descriptions()).find_place === `Tells ${round}.`, { what: `description ${round}` });
  }
});

test.each([
  ['half a file', (text: string) => text.slice(0, text.length / 2), 'it is not valid JSON'],
  ['an empty file', () => '', 'the file is empty'],
  ['a definition without its list of tools', () => '{"version": "2"}', 'tools: '],
  ['a file outside of the data', (text: string) => text.replace('"manual.md"', '"../../.env"'), 'must be the name of a file in demo/data'],
  ['a tool that stands there twice', (text: string) => text.replace('"read_section"', '"search_knowledge"'), 'names a tool twice'],
])('%s keeps the tools and is reported in one line', async (_what, breakIt, reason) => {
  const toolsets = await startCopy();
  const { descriptions } = await connect(toolsets, 'knowledge-base');
  const before = await descriptions();
  const file = toolsets.files['knowledge-base'];
  const whole = readFileSync(file, 'utf8');
  writeFileSync(file, breakIt(whole));
  const reports = () => toolsets.lines.filter((line) => line.message === 'demo definition not used');
  await until(() => reports().length > 0, { what: 'the report' });
  expect(reports()[0]?.fields).toEqual({ file: 'knowledge-base.json', reason: expect.stringContaining(reason) });
  expect(String(reports()[0]?.fields.reason)).not.toContain('\n');
  expect(await descriptions()).toEqual(before);
  writeFileSync(file, addAnnouncements(whole));
  await until(async () => (await descriptions()).search_knowledge?.includes('announcements'), { what: 'the repaired definition' });
  expect(reports()).toHaveLength(1);
});

test('a save that changes only the layout announces nothing', async () => {
  const toolsets = await startCopy();
  const file = toolsets.files['knowledge-base'];
  appendFileSync(file, '\n\n');
  edit(toolsets.files.places, (text) => text.replace('Tells where', 'Says where'));
  // The other file's redeploy shows that the watcher has seen both saves.
  await until(() => toolsets.lines.length > 0, { what: 'the redeploy of the places' });
  expect(toolsets.lines.map((line) => line.fields.file)).toEqual(['places.json']);
});

describe('openDefinitionsFolder', () => {
  function folder(...parts: string[]): string {
    const root = mkdtempSync(join(tmpdir(), 'demo-test-'));
    onCleanup(() => rmSync(root, { recursive: true }));
    const path = join(root, ...parts);
    copyShippedDefinitions(path);
    return path;
  }

  test('a checkout that can be written is edited in place', () => {
    const path = folder('checkout');
    expect(openDefinitionsFolder(path)).toEqual({ path, kind: 'original' });
  });

  test('an installed package is left alone: its definitions are copied to a folder that can be written', () => {
    const path = folder('node_modules', 'mcp-agent-api', 'demo', 'toolsets');
    chmodSync(join(path, 'places.json'), 0o444);
    const opened = openDefinitionsFolder(path);
    onCleanup(() => rmSync(opened.path, { recursive: true }));
    expect(opened.kind).toBe('copy');
    expect(opened.path).not.toContain('node_modules');
    for (const file of ['knowledge-base.json', 'places.json']) {
      expect(readFileSync(join(opened.path, file), 'utf8')).toBe(readFileSync(join(path, file), 'utf8'));
      expect(statSync(join(opened.path, file)).mode & 0o200).not.toBe(0);
    }
  });
});
