import { Agent } from '@mastra/core/agent';
import { MCPClient } from '@mastra/mcp';
import { answerCommands, liveWithParent } from '../../dist/bench/harness/commands.js';
import { Shown } from '../../dist/bench/peers/shown.js';

/**
 * Mastra's client. With servers of the 2026 era it subscribes to changed lists; its documentation says to fetch the tools again then, and its only
 * ways to do that list every server. With servers of the 2025 era it refuses to subscribe, so there each run is given the tools as they are.
 */
const shown = new Shown();
let client;
let toolsets = [];
let tools = {};
let agent;
const subscribed = new Set();

async function list() {
  tools = await client.listTools();
  for (const { name } of toolsets) shown.takes(name, Object.entries(tools).find(([tool]) => tool.startsWith(`${name}_`))?.[1].description);
}

answerCommands({
  async start(options) {
    toolsets = options.toolsets;
    client = new MCPClient({ servers: Object.fromEntries(toolsets.map(({ name, url }) => [name, { url: new URL(url) }])) });
    await list();
    agent = new Agent({
      id: 'peer',
      name: 'peer',
      instructions: 'You are a helpful assistant.',
      model: 'openai/gpt-5',
      tools: () => tools,
    });
    for (const [name, version] of Object.entries(client.getServerProtocolVersions())) {
      if (version !== '2026-07-28') continue;
      subscribed.add(name);
      // A list that fails leaves what was there.
      await client.tools.onListChanged(name, () => void list().catch(() => undefined));
    }
    return agent !== undefined;
  },
  async serves({ toolset }) {
    if (!subscribed.has(toolset)) await list();
    return shown.of(toolset);
  },
});

liveWithParent();
