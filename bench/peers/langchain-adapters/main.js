import { FakeListChatModel } from '@langchain/core/utils/testing';
import { loadMcpTools, MultiServerMCPClient } from '@langchain/mcp-adapters';
import { createAgent } from 'langchain';
import { answerCommands, liveWithParent } from '../../dist/bench/harness/commands.js';
import { Shown } from '../../dist/bench/peers/shown.js';

/**
 * LangChain's adapters, with the hook for changed tools that they document. What the hook does is left to their user: here it loads the tools of
 * that server again and builds the agent anew, as a careful developer would.
 */
const model = new FakeListChatModel({ responses: ['ok'] });
const tools = new Map();
const shown = new Shown();
let client;
let agent;

function build(server) {
  agent = createAgent({ model, tools: [...tools.values()].flat() });
  shown.takes(server, tools.get(server)[0].description);
}

async function reload(server) {
  tools.set(server, await loadMcpTools(server, await client.getClient(server)));
  build(server);
}

answerCommands({
  async start({ toolsets }) {
    client = new MultiServerMCPClient({
      mcpServers: Object.fromEntries(toolsets.map(({ name, url }) => [name, { transport: 'http', url, reconnect: { enabled: true } }])),
      // A server that does not answer any more is no reason to end.
      onToolsListChanged: ({ server }) => void reload(server).catch(() => undefined),
    });
    const loaded = await client.initializeConnections();
    for (const { name } of toolsets) {
      tools.set(name, loaded[name]);
      shown.takes(name, loaded[name][0].description);
    }
    agent = createAgent({ model, tools: [...tools.values()].flat() });
    return agent !== undefined;
  },
  serves: ({ toolset }) => shown.of(toolset),
});

liveWithParent();
