import { Agent, connectMcpServers, MCPServerStreamableHttp, RunContext, setTracingDisabled } from '@openai/agents';
import { answerCommands, liveWithParent } from '../../dist/bench/harness/commands.js';
import { revisionIn } from '../../dist/bench/peers/shown.js';

/** OpenAI's agents with MCP servers, and default settings but for tracing. A run collects the agent's tools before each turn, which lists every server. */
setTracingDisabled(true);
let agent;
let servers;

answerCommands({
  async start({ toolsets }) {
    const all = toolsets.map(({ name, url }) => new MCPServerStreamableHttp({ name, url }));
    servers = await connectMcpServers(all, { connectInParallel: true });
    agent = new Agent({ name: 'peer', instructions: 'You are a helpful assistant.', mcpServers: servers.active });
    await agent.getAllTools(new RunContext());
  },
  serves: async ({ toolset }) => revisionIn(await agent.getAllTools(new RunContext()), toolset),
});

liveWithParent();
