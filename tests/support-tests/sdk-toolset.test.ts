import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { onCleanup } from '../support/cleanup.js';
import { type SdkEra, startSdkToolset } from '../support/sdk-toolset.js';
import { until } from '../support/until.js';

const ODD_TOOL = {
  name: 'odd',
  description: 'Kept as it is',
  inputSchema: { type: 'object', properties: { q: { type: 'string', 'x-extra': [1] } }, required: ['q'] },
  annotations: { readOnlyHint: true },
  _meta: { ui: { resourceUri: 'ui://odd/view' } },
};

async function connect(url: string): Promise<{ client: Client; changes: string[] }> {
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: 'auto' }, enforceStrictCapabilities: true });
  const changes: string[] = [];
  client.setNotificationHandler('notifications/tools/list_changed', () => {
    changes.push('tools');
  });
  onCleanup(() => client.close());
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  return { client, changes };
}

const ERAS: SdkEra[] = ['legacy', 'stateless', 'modern', 'both'];

describe.each(ERAS)('a toolset on the SDK, %s', (era) => {
  const modern = era === 'modern' || era === 'both';

  test('lists its tools verbatim, runs them, and hands out views', async () => {
    const toolset = await startSdkToolset({
      era,
      name: 'kb',
      instructions: 'Use it well.',
      tools: [ODD_TOOL, { name: 'upper', run: ({ text }, { headers }) => `${String(text).toUpperCase()} ${headers['x-user']}` }],
      resources: [{ uri: 'ui://odd/view', text: '<p>view</p>' }],
    });
    const { client } = await connect(toolset.url);
    const { tools } = await client.listTools(undefined, { cacheMode: 'bypass' });
    expect(tools[0]).toEqual(ODD_TOOL);
    expect(tools[1]).toEqual({ name: 'upper', inputSchema: { type: 'object', properties: {} } });
    expect(client.getInstructions()).toBe('Use it well.');
    const upper = await client.callTool({ name: 'upper', arguments: { text: 'abc' } }, { headers: { 'x-user': 'ada' } });
    expect(upper.content).toEqual([{ type: 'text', text: 'ABC ada' }]);
    const echoed = await client.callTool({ name: 'odd', arguments: { q: 'x' } });
    expect(echoed.content).toEqual([{ type: 'text', text: '{"q":"x"}' }]);
    expect(toolset.calls.map((call) => call.tool)).toEqual(['upper', 'odd']);
    const view = await client.readResource({ uri: 'ui://odd/view' });
    expect(view.contents[0]).toMatchObject({ uri: 'ui://odd/view', text: '<p>view</p>', mimeType: 'text/html' });
    expect(toolset.counts()).toMatchObject({ 'server/discover': 1, 'tools/list': 1, 'tools/call': 2 });
    expect(toolset.counts().initialize).toBe(modern ? 0 : 1);
  });

  test('pushes a change where its era can, and never otherwise', async () => {
    const toolset = await startSdkToolset({ era, tools: [{ name: 'a' }] });
    const { client, changes } = await connect(toolset.url);
    if (modern) await client.listen({ toolsListChanged: true });
    if (era !== 'stateless') await until(() => toolset.streams() === 1);
    toolset.setTools([{ name: 'b' }]);
    if (era === 'stateless') expect(toolset.streams()).toBe(0);
    else await until(() => changes.length === 1);
    const { tools } = await client.listTools(undefined, { cacheMode: 'bypass' });
    expect(tools.map((tool) => tool.name)).toEqual(['b']);
    expect(changes.length).toBe(era === 'stateless' ? 0 : 1);
  });

  test('restarts on its port with other tools after it was killed', async () => {
    const toolset = await startSdkToolset({ era, tools: [{ name: 'a' }] });
    await connect(toolset.url);
    await toolset.kill();
    expect(toolset.sockets()).toBe(0);
    await expect(fetch(toolset.url)).rejects.toThrow('fetch failed');
    await toolset.restart({ tools: [{ name: 'b' }] });
    const { client } = await connect(toolset.url);
    const { tools } = await client.listTools(undefined, { cacheMode: 'bypass' });
    expect(tools.map((tool) => tool.name)).toEqual(['b']);
  });
});

test('a modern toolset that stops ends its subscriptions in order', async () => {
  const toolset = await startSdkToolset({ era: 'modern', tools: [{ name: 'a' }] });
  const { client } = await connect(toolset.url);
  const subscription = await client.listen({ toolsListChanged: true });
  await toolset.stop();
  await expect(subscription.closed).resolves.toBe('graceful');
  expect(toolset.streams()).toBe(0);
});

test('a legacy toolset forgets a session that its client deleted', async () => {
  const toolset = await startSdkToolset({ era: 'legacy', tools: [{ name: 'a' }] });
  const { client } = await connect(toolset.url);
  expect(toolset.sessions()).toBe(1);
  await (client.transport as StreamableHTTPClientTransport).terminateSession();
  expect(toolset.sessions()).toBe(0);
  expect(toolset.counts().DELETE).toBe(1);
});

test('a tool can report progress and notify on its own response stream', async () => {
  const toolset = await startSdkToolset({
    era: 'legacy',
    tools: [
      {
        name: 'slow',
        run: async (_args, { progress, notify }) => {
          await progress(1, 2);
          await notify('notifications/tools/list_changed');
          return 'done';
        },
      },
    ],
  });
  const { client, changes } = await connect(toolset.url);
  const seen: number[] = [];
  await client.callTool({ name: 'slow' }, { onprogress: ({ progress }) => seen.push(progress) });
  expect(seen).toEqual([1]);
  expect(changes).toEqual(['tools']);
});

test('a toolset can come back on its port with another era, other tools and instructions', async () => {
  const toolset = await startSdkToolset({ era: 'legacy', tools: [{ name: 'a' }] });
  await connect(toolset.url);
  await until(() => toolset.streams() === 1);
  await toolset.restart({ era: 'modern', tools: [{ name: 'b' }], instructions: 'New ones.' });
  expect([toolset.streams(), toolset.sessions()]).toEqual([0, 0]);
  const { client } = await connect(toolset.url);
  expect([client.getProtocolEra(), client.getInstructions()]).toEqual(['modern', 'New ones.']);
});

test('a toolset tells its clients that views changed', async () => {
  const toolset = await startSdkToolset({ era: 'legacy', tools: [{ name: 'a' }] });
  const { client, changes } = await connect(toolset.url);
  client.setNotificationHandler('notifications/resources/list_changed', () => {
    changes.push('resources');
  });
  await until(() => toolset.streams() === 1);
  toolset.setResources([{ uri: 'ui://a/v', text: '<b>' }]);
  await until(() => changes.includes('resources'));
  expect((await client.readResource({ uri: 'ui://a/v' })).contents).toMatchObject([{ text: '<b>' }]);
});
