import { mkdir, rm } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { answerCommands, liveWithParent } from '../../dist/bench/harness/commands.js';

/**
 * LangGraph's own API server, the one that `langgraphjs dev` starts, in this process and without its reload. It keeps threads in memory
 * and writes them to a folder now and then.
 */

/** How many runs it works on at once; its default of 10 would make the others wait. */
const WORKERS = 64;

answerCommands({
  async start({ toolsets, modelUrl }) {
    process.env.BENCH_TOOLSETS = JSON.stringify(toolsets);
    process.env.BENCH_MODEL_URL = modelUrl;
    const { startServer } = await import('@langchain/langgraph-api/server');
    const cwd = fileURLToPath(new URL('./node_modules/.state', import.meta.url));
    await rm(cwd, { recursive: true, force: true });
    await mkdir(cwd, { recursive: true });
    const graph = fileURLToPath(new URL('./graph.js', import.meta.url));
    const { host } = await startServer({ port: 0, host: '127.0.0.1', nWorkers: WORKERS, cwd, graphs: { agent: `${graph}:graph` } });
    return { baseUrl: `http://${host}` };
  },
});

liveWithParent();
