import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import express from 'express';
import { assembleCatalog } from '../../src/core/catalog.js';
import { takeSnapshot } from '../../src/core/snapshot.js';
import {
  type AgentOfGeneration,
  type AgentSlot,
  buildAgent,
  Checkpointing,
  createModel,
  createRouter,
  type KeepFreshOptions,
  keepFresh,
  refreshSeconds,
} from '../../src/index.js';
import { onCleanup } from '../support/cleanup.js';
import { serveLoopback } from '../support/loopback-server.js';
import { ManualClock } from '../support/manual-clock.js';
import { shownTools, startModelServer } from '../support/model-server.js';
import { runTurn } from '../support/run-client.js';
import { startSdkToolset } from '../support/sdk-toolset.js';
import { until } from '../support/until.js';
import { listsOf, tool } from './fleet.js';

const EVERY_SECONDS = 1_800;

/** A host with a slot and an Express application of its own: it lists the toolset with an MCP client, and wants only the poll. */
async function startHost({ everySeconds = EVERY_SECONDS }: { everySeconds?: number } = {}) {
  const toolset = await startSdkToolset({ era: 'stateless', tools: [tool('search', 'Searches the manual')] });
  const client = new Client({ name: 'host', version: '1' });
  await client.connect(new StreamableHTTPClientTransport(new URL(toolset.url)));
  onCleanup(() => client.close());
  const provider = await startModelServer({ strict: true });
  const model = await createModel({ model: 'openai:test-model', apiKey: 'test-key', baseUrl: provider.baseUrl, maxRetries: 0 });
  const { saver } = await Checkpointing.open('memory');

  let builds = 0;
  const build = async (): Promise<AgentOfGeneration> => {
    builds++;
    const { tools } = await client.listTools(undefined, { cacheMode: 'bypass' });
    const list = { tools, instructions: undefined };
    const snapshot = takeSnapshot({ endpoint: { name: 'toolset', url: toolset.url, credentialHeaders: [] }, list });
    const sessions = { call: () => Promise.reject(new Error('This model calls no tool.')) };
    return buildAgent({ catalog: assembleCatalog([snapshot]), sessions, model, checkpointer: saver });
  };
  const slot: AgentSlot<AgentOfGeneration> = { current: await build() };
  const stopping = new AbortController();
  onCleanup(() => stopping.abort());
  const clock = new ManualClock();
  const warnings: string[] = [];
  const logger: KeepFreshOptions['logger'] = {
    debug: () => undefined,
    info: () => undefined,
    warn: (message) => void warnings.push(message),
    error: () => undefined,
  };
  keepFresh(slot, build, { everySeconds, signal: stopping.signal, clock, logger });
  const application = express().use(
    '/agent',
    createRouter(() => slot.current),
  );
  const { origin } = await serveLoopback((request, response) => application(request, response));

  return {
    toolset,
    slot,
    clock,
    warnings,
    builds: () => builds,
    /** Lets one interval pass, and waits until the build that it causes is over. */
    async passInterval() {
      await clock.advance(EVERY_SECONDS * 1_000);
      await until(() => clock.pending === 1, { what: 'the build to end and the next one to be planned' });
    },
    async shown() {
      await runTurn(origin, { text: 'What can you do?', path: '/agent/runs' });
      return Object.fromEntries(shownTools(provider.requests.at(-1)).map(({ name, description }) => [name, description]));
    },
  };
}

describe('through keepFresh', () => {
  test('an unchanged list keeps the current agent', async () => {
    const host = await startHost();
    const agent = host.slot.current;
    await host.passInterval();
    expect(host.builds()).toBe(2);
    expect(host.slot.current).toBe(agent);
  });

  test('a changed description swaps it, and the next run shows it to the model', async () => {
    const host = await startHost();
    expect(await host.shown()).toEqual({ search: 'Searches the manual' });
    host.toolset.setTools([tool('search', 'Searches the manual and the announcements')]);
    await host.clock.advance(EVERY_SECONDS * 1_000 - 1);
    expect(host.builds()).toBe(1);
    await host.passInterval();
    expect(await host.shown()).toEqual({ search: 'Searches the manual and the announcements' });
  });

  test('a failed build keeps the current agent, and the next poll tries again', async () => {
    const host = await startHost();
    const agent = host.slot.current;
    await host.toolset.kill();
    await host.passInterval();
    expect(host.builds()).toBe(2);
    expect(host.slot.current).toBe(agent);
    expect(host.warnings).toEqual(['round aborted']);
    expect(await host.shown()).toEqual({ search: 'Searches the manual' });
    await host.toolset.restart({ tools: [tool('search', 'Searches everything')] });
    await host.passInterval();
    expect(await host.shown()).toEqual({ search: 'Searches everything' });
  });

  test('0 never polls', async () => {
    const host = await startHost({ everySeconds: 0 });
    host.toolset.setTools([tool('search', 'Searches everything')]);
    expect(host.clock.pending).toBe(0);
    await host.clock.advance(10 * EVERY_SECONDS * 1_000);
    expect([host.builds(), listsOf(host.toolset)]).toEqual([1, 1]);
    expect(await host.shown()).toEqual({ search: 'Searches the manual' });
  });

  test.each([
    [undefined, 1_800],
    ['', 1_800],
    [' ', 1_800],
    ['60', 60],
    ['0.5', 0.5],
    ['0', 0],
  ])('the interval %j is read as %d seconds', (text, seconds) => {
    expect(refreshSeconds({ MCP_AGENT_API_REFRESH_SECONDS: text })).toBe(seconds);
  });

  test.each(['-1', 'NaN', 'Infinity', '30m', '1e3', '0x10', '2147484', 'soon'])('the interval %j is refused', (text) => {
    expect(() => refreshSeconds({ MCP_AGENT_API_REFRESH_SECONDS: text })).toThrow(`MCP_AGENT_API_REFRESH_SECONDS is "${text}"`);
  });
});
