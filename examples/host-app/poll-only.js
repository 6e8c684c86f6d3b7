/**
 * An application that builds its agent itself, in its own way, and wants nothing but fresh tools: the same build again on an interval.
 * It has no notifications, no sessions that stay open, and no status at /agent/refresh.
 */
import { MemorySaver } from '@langchain/langgraph';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import express from 'express';
import { createAgent, tool } from 'langchain';
import { adoptAgent, createModel, createRouter, keepFresh, OpenRuns, refreshSeconds } from 'mcp-agent-api';
import { createLogger, format, transports } from 'winston';
import { isAdministrator, requireOwnThread, requireUser } from './users.js';

const logger = createLogger({ format: format.json(), transports: [new transports.Console()] });
const model = await createModel({
  model: process.env.PROVIDER_MODEL ?? 'openai:gpt-5',
  apiKey: process.env.PROVIDER_API_KEY,
  baseUrl: process.env.PROVIDER_BASE_URL,
});
const checkpointer = new MemorySaver();

/** Opens a connection to the toolset for this work alone, so that a toolset that was restarted meanwhile is no concern. */
async function withToolset(work) {
  // Without this option a server that offers no tools at present would look like one with an empty list.
  const client = new Client({ name: 'host-app', version: '1.0.0' }, { enforceStrictCapabilities: true });
  await client.connect(new StreamableHTTPClientTransport(new URL(process.env.MCP_URL ?? '')));
  try {
    return await work(client);
  } finally {
    await client.close();
  }
}

/** Everything that happened once at start before: list the tools, wrap them, create the agent. */
async function build() {
  const definitions = await withToolset(async (client) => (await client.listTools()).tools);
  const tools = definitions.map(({ name, description, inputSchema }) =>
    tool(
      async (args) => {
        const { content } = await withToolset((client) => client.callTool({ name, arguments: args }));
        return content.map((block) => (block.type === 'text' ? block.text : `[${block.type}]`)).join('\n');
      },
      { name, description, schema: inputSchema },
    ),
  );
  const agent = createAgent({ model, tools, checkpointer });
  return adoptAgent({ graph: agent.graph, tools });
}

const slot = { current: await build() };
const stopping = new AbortController();
keepFresh(slot, build, {
  everySeconds: refreshSeconds(),
  signal: stopping.signal,
  logger,
  onSwap: ({ to }) => logger.info('the agent has new tools', { fingerprint: to, tools: slot.current.tools.map(({ name }) => name) }),
});

const openRuns = new OpenRuns();
const app = express();
app.use('/agent', requireUser);
app.post('/agent/runs', express.json({ limit: '10mb' }), requireOwnThread);
app.use('/agent/threads/:thread', requireOwnThread);
app.use(
  '/agent',
  createRouter(() => slot.current, { isAdmin: isAdministrator, openRuns, logger }),
);

const server = app.listen(Number(process.env.PORT ?? 3000), '127.0.0.1', (error) => {
  if (error) throw error;
  logger.info('listening', { address: server.address() });
});

async function stop() {
  stopping.abort();
  openRuns.beginDrain();
  await openRuns.idle(20_000);
  server.close();
  // A client that keeps its connection busy must not keep the process.
  setTimeout(() => server.closeAllConnections(), 2_000).unref();
}
process.once('SIGTERM', stop);
process.once('SIGINT', stop);
