import type { BaseCheckpointSaver } from '@langchain/langgraph';
import { ChatOpenAI } from '@langchain/openai';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import express from 'express';
import { type AgentOfGeneration, buildAgent } from '../../src/agent/build-agent.js';
import { createModel } from '../../src/agent/model.js';
import { ToolCache } from '../../src/agent/tool-cache.js';
import { assembleCatalog, type Catalog } from '../../src/core/catalog.js';
import { CodedError } from '../../src/core/errors.js';
import type { LiveAgents, Sessions, ToolCallRequest, ToolCallResult } from '../../src/core/ports.js';
import { takeSnapshot } from '../../src/core/snapshot.js';
import type { RefreshStatus, RoundRecord } from '../../src/core/status.js';
import type { JsonObject } from '../../src/core/tool.js';
import { createRouter, type RouterOptions } from '../../src/http/router.js';
import { GenerationSlot } from '../../src/refresh/slot.js';
import { Checkpointing } from '../../src/store/checkpointing.js';
import { systemClock } from '../../src/system-clock.js';
import { onCleanup } from '../support/cleanup.js';
import { serveLoopback } from '../support/loopback-server.js';
import { type ModelServer, type ModelServerOptions, startModelServer } from '../support/model-server.js';
import { type SdkToolset, startSdkToolset } from '../support/sdk-toolset.js';
import type { TestTool } from '../support/toolset-parts.js';

/** A real toolset and a real MCP client to it, as the catalog and the sessions that an agent is built from. */
export interface Tooling {
  readonly toolsets: readonly SdkToolset[];
  readonly sessions: Sessions;
  /** Lists all toolsets now. */
  catalog(): Promise<Catalog>;
}

export interface ToolsetSetup {
  readonly name: string;
  readonly tools: readonly TestTool[];
  readonly instructions?: string;
  readonly credentialHeaders?: readonly string[];
}

/** Starts toolsets on the MCP SDK's server and connects to them with the SDK's client. */
export async function startTooling(setups: readonly ToolsetSetup[]): Promise<Tooling> {
  const toolsets: SdkToolset[] = [];
  const clients = new Map<string, Client>();
  const listers: (() => Promise<ReturnType<typeof takeSnapshot>>)[] = [];
  for (const { name, tools, instructions, credentialHeaders = [] } of setups) {
    const toolset = await startSdkToolset({ era: 'legacy', name, tools, instructions });
    toolsets.push(toolset);
    const client = new Client({ name: 'test', version: '1' });
    await client.connect(new StreamableHTTPClientTransport(new URL(toolset.url)));
    onCleanup(() => client.close());
    listers.push(async () => {
      const { tools: list } = await client.listTools(undefined, { cacheMode: 'bypass' });
      const snapshot = takeSnapshot({ endpoint: { name, url: toolset.url, credentialHeaders }, list: { tools: list, instructions } });
      clients.set(snapshot.id, client);
      return snapshot;
    });
  }
  return {
    toolsets,
    sessions: { call: (toolset, request) => callThrough(clients.get(toolset), request) },
    catalog: async () => assembleCatalog(await Promise.all(listers.map((list) => list()))),
  };
}

/** The test's own short way to a toolset; the product's sessions are tested in tests/mcp. */
async function callThrough(
  client: Client | undefined,
  { tool, args, headers, timeoutMs, signal }: ToolCallRequest,
): Promise<ToolCallResult> {
  if (!client) throw new CodedError('SESSION_CLOSED', 'no session');
  try {
    const result = await client.callTool(
      { name: tool, arguments: args },
      { headers, timeout: timeoutMs, signal, toolDefinition: { name: tool, inputSchema: { type: 'object' } } },
    );
    return {
      content: result.content as unknown as JsonObject[],
      structuredContent: result.structuredContent,
      isError: result.isError === true,
      meta: result._meta,
    };
  } catch (error) {
    if (signal?.aborted) throw new CodedError('CALL_CANCELLED', 'cancelled', { cause: error });
    const isTimeout = error instanceof Error && 'code' in error && error.code === 'REQUEST_TIMEOUT';
    throw isTimeout ? new CodedError('CALL_TIMEOUT', 'timeout', { cause: error }) : new CodedError('TOOL_GONE', 'gone', { cause: error });
  }
}

export interface AgentHost {
  readonly url: string;
  readonly model: ModelServer;
  readonly tooling: Tooling;
  readonly slot: GenerationSlot<AgentOfGeneration>;
  readonly saver: BaseCheckpointSaver;
  /** The generations that nobody uses any more, in the order in which they were given up. */
  readonly released: readonly number[];
  /** Lists the toolsets and swaps the agent. */
  swap(): Promise<AgentOfGeneration>;
  /** What `GET /refresh` and `POST /refresh` answer; a test replaces what it is about. */
  refreshing: { status: RefreshStatus; refresh: LiveAgents<AgentOfGeneration>['refresh']; failing: readonly string[] };
}

export interface AgentHostOptions {
  readonly toolsets?: readonly ToolsetSetup[];
  readonly model?: ModelServerOptions;
  readonly router?: RouterOptions;
  readonly toolSeconds?: number;
  /** `false` asks the model for whole answers. */
  readonly streaming?: boolean;
  /** Where threads are kept; in memory unless given. */
  readonly saver?: BaseCheckpointSaver;
  /** Start without a generation. */
  readonly empty?: boolean;
}

/** As the service makes its model, except that the service knows no model that does not stream. */
async function modelFor({ baseUrl }: ModelServer, streaming: boolean) {
  if (streaming) return createModel({ model: 'openai:test-model', apiKey: 'sk-secret-key', baseUrl, maxRetries: 0 });
  return new ChatOpenAI({ model: 'test-model', apiKey: 'sk-secret-key', configuration: { baseURL: baseUrl }, disableStreaming: true });
}

async function openMemory(): Promise<BaseCheckpointSaver> {
  const threads = await Checkpointing.open('memory');
  onCleanup(() => threads.close());
  return threads.saver;
}

/** An Express application with the router, an agent on a real provider client and real toolsets. It ends with the test. */
export async function startAgentHost(options: AgentHostOptions = {}): Promise<AgentHost> {
  const tooling = await startTooling(options.toolsets ?? []);
  const model = await startModelServer(options.model);
  const chat = await modelFor(model, options.streaming ?? true);
  const saver = options.saver ?? (await openMemory());
  const cache = new ToolCache();
  const released: number[] = [];
  const slot = new GenerationSlot<AgentOfGeneration>((generation) => void released.push(generation.number));
  const refreshing: AgentHost['refreshing'] = { status: emptyStatus(), refresh: async () => emptyRound(), failing: [] };
  const swap = async () => {
    const catalog = await tooling.catalog();
    const agent = buildAgent({
      catalog,
      sessions: tooling.sessions,
      model: chat,
      checkpointer: saver,
      toolSeconds: options.toolSeconds,
      cache,
    });
    const number = (slot.current?.number ?? 0) + 1;
    slot.swap({ number, agent, catalog, fingerprint: catalog.fingerprint, builtAt: systemClock.date() }, systemClock.date());
    return agent;
  };
  if (!options.empty) await swap();
  const live: LiveAgents<AgentOfGeneration> = {
    lease: () => slot.lease(),
    get current() {
      return slot.current;
    },
    status: () => refreshing.status,
    readiness: () => ({ ready: slot.current !== undefined, failing: refreshing.failing }),
    refresh: (request) => refreshing.refresh(request),
  };
  const app = express();
  app.use(createRouter(live, options.router));
  const http = await serveLoopback((req, res) => app(req, res));
  return { url: http.origin, model, tooling, slot, saver, released, swap, refreshing };
}

export function emptyRound(): RoundRecord {
  return {
    round: 1,
    outcome: 'unchanged',
    trigger: 'manual',
    at: '2026-01-01T00:00:00.000Z',
    durationMs: 1,
    generation: 1,
    toolsets: { listed: [], swapped: [], held: [], late: [], failing: [] },
    changes: { added: [], removed: [], changed: [] },
    error: null,
  };
}

export function emptyStatus(): RefreshStatus {
  return {
    instance: 'test',
    generation: 1,
    fingerprint: null,
    builtAt: null,
    everySeconds: 1800,
    nextPollAt: null,
    rounds: { aborted: 0, rejected: 0, swapped: 0, held: 0, unchanged: 0 },
    last: null,
    draining: [],
    replicas: [],
    replicasDifferSince: null,
    toolsets: [],
    index: { error: null, readAt: null },
  };
}
