import { createParser } from 'eventsource-parser';
import { type Stamp, stampOf } from '../fleet/tools.js';
import { machineNow } from './clock.js';
import type { Contestant, Running, Served, StartOptions } from './contestant.js';
import type { Fleet } from './fleet.js';
import { startNode } from './node-process.js';

export const ADMIN = { authorization: 'Bearer bench' } as const;

/** The service under measurement: `dist/main.js` as a process, as it ships. */
export interface RunningService extends Running {
  readonly baseUrl: string;
  /** How many generations it has told of since it was started here, by its feed. */
  generations(): number;
  /** An answer of the service as JSON, asked as an administrator. */
  get<T>(path: string): Promise<T>;
  /** The values of `GET /metrics` whose name is `name`, by their labels. */
  metrics(name: string): Promise<ReadonlyMap<string, number>>;
}

export interface ServiceOptions extends StartOptions {
  /** For `PROVIDER_BASE_URL`; without one no run can be answered. */
  readonly modelUrl?: string;
  /** Returns as soon as the process listens, and does not wait for the toolsets. */
  readonly untilListening?: boolean;
}

const MAIN = new URL('../../../../dist/main.js', import.meta.url).href;

/** Starts the service on the fleet, with default settings but for those given, and waits until every toolset has answered and is listened to. */
export async function startService(fleet: Pick<Fleet, 'indexUrl' | 'toolsets'>, options: ServiceOptions = {}): Promise<RunningService> {
  const child = startNode({
    script: MAIN,
    env: {
      MCP_URL: fleet.indexUrl,
      MCP_AGENT_API_ADMIN_TOKEN: 'bench',
      PROVIDER_MODEL: 'openai:bench',
      PROVIDER_API_KEY: 'bench',
      PROVIDER_BASE_URL: options.modelUrl ?? 'http://127.0.0.1:9/v1',
      PORT: '0',
      ...(options.debounceMs !== undefined && { MCP_AGENT_API_DEBOUNCE_MS: String(options.debounceMs) }),
      ...(options.pollSeconds !== undefined && { MCP_AGENT_API_REFRESH_SECONDS: String(options.pollSeconds) }),
      ...options.env,
    },
  });
  const { port } = JSON.parse(await child.line('"listening"')) as { port: number };
  const baseUrl = `http://127.0.0.1:${port}`;
  const get = async <T>(path: string): Promise<T> => {
    const response = await fetch(new URL(path, baseUrl), { headers: ADMIN });
    if (!response.ok) throw new Error(`GET ${path}: ${response.status} ${await response.text()}`);
    return (await response.json()) as T;
  };
  const metrics = async (name: string) => {
    const text = await (await fetch(new URL('/metrics', baseUrl), { headers: ADMIN })).text();
    const lines = text.split('\n').filter((line) => line.startsWith(`${name} `) || line.startsWith(`${name}{`));
    return new Map(
      lines.map((line) => {
        const end = line.lastIndexOf(' ');
        return [line.slice(name.length, end), Number(line.slice(end + 1))] as const;
      }),
    );
  };
  if (options.untilListening !== true) await untilUp(get, fleet.toolsets.length);

  const listeners = new Set<(served: Served) => void>();
  const feed = new AbortController();
  let generations = 0;
  const onGeneration = async (number: number, at: number) => {
    generations++;
    // The question costs the service time; it is asked only while somebody wants to know.
    if (listeners.size === 0) return;
    const record = await get<{ tools: { toolset: string; after?: { description?: string } | null }[] }>(`/generations/${number}`);
    for (const { toolset, after } of record.tools) {
      const stamp: Stamp | undefined = stampOf(after?.description);
      if (stamp !== undefined) for (const listener of listeners) listener({ toolset, revision: stamp.revision, at });
    }
  };
  await follow(baseUrl, feed.signal, (number, at) => void onGeneration(number, at));
  return {
    process: child,
    tellsChanges: true,
    baseUrl,
    generations: () => generations,
    get,
    metrics,
    onServed(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    async serves(toolset) {
      const { tools } = await get<{ tools: { toolset: string; description: string }[] }>('/connections');
      return tools.map((tool) => (tool.toolset === toolset ? stampOf(tool.description) : undefined)).find((stamp) => stamp !== undefined);
    },
    async stop() {
      feed.abort();
      await child.stop();
    },
  };
}

/** Waits until every toolset is watched or polled. It asks seldom: a status of hundreds of toolsets costs the service time. */
async function untilUp(get: <T>(path: string) => Promise<T>, toolsets: number): Promise<void> {
  const endsAt = machineNow() + 120_000;
  for (;;) {
    const status = await get<{ toolsets: { state: string }[] }>('/refresh');
    const up = status.toolsets.filter(({ state }) => state === 'watching' || state === 'polling').length;
    if (up === toolsets) return;
    if (machineNow() > endsAt) throw new Error(`Only ${up} of ${toolsets} toolsets came up.`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** Opens the service's own feed of events; from then on it notes when each generation became known here. */
async function follow(baseUrl: string, signal: AbortSignal, onGeneration: (number: number, at: number) => void): Promise<void> {
  const response = await fetch(new URL('/refresh/events', baseUrl), { headers: ADMIN, signal });
  const parser = createParser({
    onEvent({ event, data }) {
      if (event === 'generation') onGeneration((JSON.parse(data) as { number: number }).number, machineNow());
    },
  });
  const read = async () => {
    const decoder = new TextDecoder();
    for await (const chunk of response.body ?? []) parser.feed(decoder.decode(chunk, { stream: true }));
  };
  // The feed ends with the measurement or with the service; a wait for what it did not say ends by its own limit.
  void read().catch(() => undefined);
}

/** Our entry among the contestants. */
export const OURS: Contestant = { name: 'mcp-agent-api', version: 'this commit', cannot: {}, start: startService };
