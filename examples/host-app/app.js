/** An application with its own users and its own start and stop, which serves the agent's routes under /agent. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { MemorySaver } from '@langchain/langgraph';
import express from 'express';
import { buildAgent, createModel, createRouter, OpenRuns, refreshSeconds, ToolCache, ToolsetRefresher } from 'mcp-agent-api';
import { createLogger, format, transports } from 'winston';
import { isAdministrator, requireOwnThread, requireUser, userOf } from './users.js';

// Whatever runs inside a turn can ask here for whom it runs. The application's logger does.
const currentUser = new AsyncLocalStorage();
const withUser = format((entry) => ({ ...entry, user: currentUser.getStore() }));
const logger = createLogger({ format: format.combine(withUser(), format.json()), transports: [new transports.Console()] });

// The model and the checkpointer are the application's own. All generations of the agent share them, so threads outlive a swap.
const model = await createModel({
  model: process.env.PROVIDER_MODEL ?? 'openai:gpt-5',
  apiKey: process.env.PROVIDER_API_KEY,
  baseUrl: process.env.PROVIDER_BASE_URL,
});
const checkpointer = new MemorySaver();
const cache = new ToolCache();

const refresher = new ToolsetRefresher({
  url: process.env.MCP_URL ?? '',
  everySeconds: refreshSeconds(),
  build: (catalog, sessions) => buildAgent({ catalog, sessions, model, checkpointer, cache }),
  logger,
});
refresher.on('swapped', ({ generation }) => {
  logger.info('the agent has new tools', { generation: generation.number, tools: generation.agent.tools.map(({ name }) => name) });
});

const openRuns = new OpenRuns({ maxRuns: 50 });
const router = createRouter(refresher, {
  isAdmin: isAdministrator,
  aroundRun: ({ req, threadId, generation }, run) =>
    currentUser.run(userOf(req), async () => {
      const startedAt = performance.now();
      try {
        await run({ metadata: { user: userOf(req) }, tags: ['host-app'] });
      } finally {
        logger.info('turn ended', { threadId, generation, durationMs: Math.round(performance.now() - startedAt) });
      }
    }),
  openRuns,
  logger,
});

const app = express();
// The application's own probes: the router's routes are behind requireUser, which a load balancer cannot pass.
app.get('/healthz', (_request, response) => {
  const { ready, failing } = refresher.readiness();
  response.status(ready && !openRuns.draining ? 200 : 503).json({ ready, failing });
});
app.use('/agent', requireUser);
app.post('/agent/runs', express.json({ limit: '10mb' }), requireOwnThread);
app.use('/agent/threads/:thread', requireOwnThread);
app.use('/agent', router);

const server = app.listen(Number(process.env.PORT ?? 3000), '127.0.0.1', (error) => {
  if (error) throw error;
  logger.info('listening', { address: server.address() });
});

let stopping = false;

async function stop() {
  stopping = true;
  openRuns.beginDrain();
  await openRuns.idle(20_000);
  server.close();
  // A client that keeps its connection busy must not keep the process.
  setTimeout(() => server.closeAllConnections(), 2_000).unref();
  await refresher.stop();
}
process.once('SIGTERM', stop);
process.once('SIGINT', stop);

try {
  await refresher.start();
  logger.info('ready for runs');
} catch (error) {
  // Stopping ends a start that is still going on; that is no failure.
  if (!stopping) {
    // The library never ends the process. This application chooses to: without any toolset it has nothing to serve.
    logger.error('no toolset answered', { error: error.message });
    process.exitCode = 1;
    await stop();
  }
}
