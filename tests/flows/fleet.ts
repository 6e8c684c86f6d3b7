import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { readConfig } from '../../src/config.js';
import type { Clock, Logger } from '../../src/core/ports.js';
import type { RefreshStatus, RoundRecord, ToolsetStatus } from '../../src/core/status.js';
import { closeServer } from '../../src/http/application.js';
import { type App, createApp } from '../../src/service.js';
import { onCleanup } from '../support/cleanup.js';
import { type IndexEntry, type IndexServer, startIndex } from '../support/index-server.js';
import { type ModelServer, shownTools, startModelServer } from '../support/model-server.js';
import { runTurn } from '../support/run-client.js';
import { until } from '../support/until.js';

export interface LogLine {
  readonly level: keyof Logger;
  readonly message: string;
  readonly fields: Record<string, unknown>;
}

/** The service on a real HTTP server, with a real provider client whose model is scripted, and an index of real toolsets. */
export interface Fleet {
  readonly baseUrl: string;
  readonly app: App;
  readonly model: ModelServer;
  readonly index: IndexServer;
  readonly log: readonly LogLine[];
  /** Resolves when `start` of the service has; rejects as it does. */
  readonly started: Promise<void>;
  /** What a new run shows the model: the description of each tool, by name, as it stands in the request that the provider receives. */
  shown(): Promise<Record<string, string | undefined>>;
  /** `GET /refresh`, as an administrator sees it. */
  status(): Promise<RefreshStatus>;
  toolset(name: string): Promise<ToolsetStatus>;
  /** Waits until the toolset is in this state, and returns its status. */
  untilState(name: string, state: ToolsetStatus['state']): Promise<ToolsetStatus>;
  /** Waits until this generation, or a later one, is live. */
  untilGeneration(number: number): Promise<void>;
  /** Every round so far, oldest first. */
  rounds(): readonly RoundRecord[];
  /** `POST /refresh` as an administrator. */
  refresh(toolset?: string): Promise<{ status: number; body: unknown }>;
  readiness(): Promise<{ status: number; body: unknown }>;
}

export interface FleetOptions {
  /** Environment variables, over the fast settings of tests. */
  readonly env?: Readonly<Record<string, string>>;
  /** What `MCP_URL` is, where it is not the index of `toolsets`. */
  readonly mcpUrl?: string;
  /** How the model server judges requests. */
  readonly strict?: boolean;
  /** The service's clock; the system's where it is not given. */
  readonly clock?: Clock;
  /** False returns before the toolsets are up. */
  readonly wait?: boolean;
}

export const ADMIN = { authorization: 'Bearer admin-token' } as const;

/** Settings as users have them, except that what is repeated is repeated fast. */
const FAST = {
  MCP_AGENT_API_DEBOUNCE_MS: '100',
  MCP_AGENT_API_POLLING_SECONDS: '0.3',
  MCP_AGENT_API_INDEX_SECONDS: '0.3',
  MCP_AGENT_API_ADMIN_TOKEN: 'admin-token',
  PROVIDER_MODEL: 'openai:test-model',
  PROVIDER_API_KEY: 'test-key',
} as const;

/** Starts everything and waits until each toolset of the index has answered and, where it can push, is listened to. It ends with the test. */
export async function startFleet(toolsets: Readonly<Record<string, IndexEntry>>, options: FleetOptions = {}): Promise<Fleet> {
  const index = await startIndex(toolsets);
  const model = await startModelServer({ strict: options.strict ?? true });
  const env = { ...FAST, MCP_URL: options.mcpUrl ?? index.url, PROVIDER_BASE_URL: model.baseUrl, ...options.env };
  const log: LogLine[] = [];
  const logAt =
    (level: keyof Logger) =>
    (message: string, fields: Record<string, unknown> = {}) =>
      void log.push({ level, message, fields });
  const logger: Logger = { debug: logAt('debug'), info: logAt('info'), warn: logAt('warn'), error: logAt('error') };
  const rounds: RoundRecord[] = [];

  const app = await createApp(readConfig(env), { env, logger, ...(options.clock !== undefined && { clock: options.clock }) });
  for (const outcome of ['held', 'unchanged', 'aborted', 'rejected'] as const)
    app.refresher.on(outcome, (round) => void rounds.push(round));
  app.refresher.on('swapped', ({ round }) => void rounds.push(round));
  const server = createServer(app.application);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const started = app.start();
  // A test that is about a start that fails awaits it; for the others the wait below fails.
  started.catch(() => undefined);
  onCleanup(async () => {
    await closeServer(server, 0);
    await app.stop();
  });
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  const ask = async (path: string, init: RequestInit = {}) => {
    const response = await fetch(new URL(path, baseUrl), { ...init, headers: { ...ADMIN, 'content-type': 'application/json' } });
    return { status: response.status, body: (await response.json()) as unknown };
  };
  const status = async () => (await ask('/refresh')).body as RefreshStatus;
  const toolset = async (name: string) => {
    const found = (await status()).toolsets.find((candidate) => candidate.name === name);
    if (found === undefined) throw new Error(`GET /refresh names no toolset ${name}.`);
    return found;
  };
  const fleet: Fleet = {
    baseUrl,
    app,
    model,
    index,
    log,
    started,
    async shown() {
      const asked = model.requests.length;
      const turn = await runTurn(baseUrl, { text: 'What can you do?' });
      if (turn.status !== 200) throw new Error(`The run was answered with ${turn.status}: ${JSON.stringify(turn.problem)}`);
      return Object.fromEntries(shownTools(model.requests[asked]).map(({ name, description }) => [name, description]));
    },
    status,
    toolset,
    untilState: (name, state) =>
      until(
        async () => {
          const found = await toolset(name);
          if (found.state !== state) throw new Error(`It is ${found.state}.`);
          return found;
        },
        { what: `${name} to be ${state}`, timeoutMs: 15_000 },
      ),
    async untilGeneration(number) {
      await until(() => (app.refresher.current?.number ?? 0) >= number, { what: `generation ${number}`, timeoutMs: 15_000 });
    },
    rounds: () => rounds,
    refresh: (name) => ask('/refresh', { method: 'POST', body: JSON.stringify(name === undefined ? {} : { toolset: name }) }),
    readiness: () => ask('/health/readiness'),
  };
  if (options.wait ?? true) {
    await started;
    await until(async () => (await status()).toolsets.every(({ state }) => state === 'watching' || state === 'polling'), {
      what: 'every toolset to answer',
      timeoutMs: 20_000,
    });
  }
  return fleet;
}

/** How many `tools/list` requests the toolset has had. */
export function listsOf(toolset: { counts(): Record<string, number> }): number {
  return toolset.counts()['tools/list'] ?? 0;
}

/** One tool as raw JSON, for raw toolsets; SDK toolsets take it too. */
export function tool(name: string, description: string): { name: string; description: string; inputSchema: object } {
  return { name, description, inputSchema: { type: 'object', properties: {} } };
}

/** The rounds with this outcome. */
export function having(rounds: readonly RoundRecord[], outcome: RoundRecord['outcome']): readonly RoundRecord[] {
  return rounds.filter((round) => round.outcome === outcome);
}
