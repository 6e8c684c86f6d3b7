import { createMCPClient } from '@ai-sdk/mcp';
import { answerCommands, liveWithParent } from '../../dist/bench/harness/commands.js';
import { revisionIn } from '../../dist/bench/peers/shown.js';

/** The AI SDK's MCP clients, kept open as it advises for a process that lives long. Each run is given the tools of all clients, which lists every server. */
let clients = [];

async function toolsOfARun() {
  return Object.assign({}, ...(await Promise.all(clients.map((client) => client.tools()))));
}

answerCommands({
  async start({ toolsets }) {
    clients = await Promise.all(toolsets.map(({ url }) => createMCPClient({ transport: { type: 'http', url } })));
    await toolsOfARun();
  },
  async serves({ toolset }) {
    const tools = Object.entries(await toolsOfARun()).map(([name, { description }]) => ({ name, description }));
    return revisionIn(tools, toolset);
  },
});

liveWithParent();
