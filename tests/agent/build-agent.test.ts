import { bindTool } from '../../src/agent/bind-tool.js';
import { buildAgent } from '../../src/agent/build-agent.js';
import { createModel } from '../../src/agent/model.js';
import { systemMessage } from '../../src/agent/system-message.js';
import { ToolCache } from '../../src/agent/tool-cache.js';
import { assembleCatalog } from '../../src/core/catalog.js';
import { fingerprint } from '../../src/core/fingerprint.js';
import type { Sessions } from '../../src/core/ports.js';
import { takeSnapshot } from '../../src/core/snapshot.js';
import { Checkpointing } from '../../src/store/checkpointing.js';

const sessions: Sessions = { call: async () => ({ content: [], isError: false }) };

function catalogOf(toolsets: { name: string; tools: { name: string; description?: string }[]; instructions?: string }[]) {
  return assembleCatalog(
    toolsets.map(({ name, tools, instructions }) =>
      takeSnapshot({
        endpoint: { name, url: `http://127.0.0.1/${name}`, credentialHeaders: [] },
        list: { tools: tools.map((tool) => ({ inputSchema: { type: 'object' }, ...tool })), instructions },
      }),
    ),
  );
}

async function builder() {
  const model = await createModel({ model: 'openai:m', apiKey: 'k' });
  const { saver } = await Checkpointing.open('memory');
  return { model, checkpointer: saver, sessions };
}

test('the fingerprint of what was built changes with a definition and not without', async () => {
  const parts = await builder();
  const built = (description: string) =>
    buildAgent({ ...parts, catalog: catalogOf([{ name: 'kb', tools: [{ name: 'search', description }] }]) });
  expect(fingerprint(built('one').tools)).toBe(fingerprint(built('one').tools));
  expect(fingerprint(built('one').tools)).not.toBe(fingerprint(built('two').tools));
});

test('an unchanged tool is taken over, a changed or renamed one is made anew, and what is gone is forgotten', () => {
  const cache = new ToolCache();
  const made: string[] = [];
  const build = (tools: Record<string, string>) =>
    cache.build(
      catalogOf([{ name: 'kb', tools: Object.entries(tools).map(([name, description]) => ({ name, description })) }]).names.groups,
      (named) => {
        made.push(`${named.name} ${named.tool.description}`);
        return bindTool({ named, sessions, toolSeconds: 1, images: 'block', schemas: 'common' });
      },
    );
  const [a] = build({ a: 'one', b: 'one' });
  expect(build({ a: 'one', c: 'one' })[0]).toBe(a);
  expect(build({ a: 'two', b: 'one' })[0]).not.toBe(a);
  expect(made).toEqual(['a one', 'b one', 'c one', 'a two', 'b one']);
});

test('a build with 5 000 tools does not touch their schemas, and a second one reuses all of them', async () => {
  const parts = await builder();
  const cache = new ToolCache();
  let read = 0;
  const tools = Array.from({ length: 5000 }, (_, number) => ({ name: `tool_${number}`, description: `Does ${number}.` }));
  const lazy = assembleCatalog(
    catalogOf([{ name: 'big', tools }]).snapshots.map((snapshot) => ({
      ...snapshot,
      tools: snapshot.tools.map((tool) => ({
        ...tool,
        get description() {
          read += 1;
          return tool.description;
        },
      })),
    })),
  );
  const first = buildAgent({ ...parts, catalog: lazy, cache });
  buildAgent({ ...parts, catalog: lazy, cache });
  expect(read).toBe(0);
  expect(first.tools[0]?.description).toBe('Does 0.');
  expect(read).toBeGreaterThan(0);
});

test('instructions follow the prompt under their toolsets, cleaned of hidden text and cut at 16 kB', () => {
  const catalog = catalogOf([
    { name: 'web', tools: [], instructions: 'ü'.repeat(20_000) },
    { name: 'kb', tools: [], instructions: 'Search\u200b first.' },
    { name: 'mute', tools: [] },
  ]);
  const text = systemMessage('Be kind.', catalog);
  expect(text.startsWith('Be kind.\n\n## kb\nSearch first.\n\n## web\nü')).toBe(true);
  expect(text.split('## web\n')[1]).toBe('ü'.repeat(8192));
  expect(text).not.toContain('mute');
});

test('only the newest threads are kept in memory', async () => {
  const { saver } = await Checkpointing.open('memory', { maxThreads: 2 });
  const model = await createModel({ model: 'openai:m', apiKey: 'k' });
  const { graph } = buildAgent({ catalog: catalogOf([]), sessions, model, checkpointer: saver });
  const at = (threadId: string) => ({ configurable: { thread_id: threadId } });
  const put = (threadId: string) =>
    saver.put(
      { configurable: { thread_id: threadId, checkpoint_ns: '' } },
      { v: 4, id: '1', ts: '', channel_values: {}, channel_versions: {}, versions_seen: {} },
      { source: 'input', step: 0, parents: {} },
      {},
    );
  for (const threadId of ['a', 'b', 'a', 'c']) await put(threadId);
  expect(await saver.getTuple(at('b'))).toBeUndefined();
  expect(await saver.getTuple(at('a'))).toBeDefined();
  expect(await saver.getTuple(at('c'))).toBeDefined();
  expect((await graph.getState(at('b'))).values).toEqual({});
});
