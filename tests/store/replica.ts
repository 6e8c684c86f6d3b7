import type { RefreshStatus } from '../../src/core/status.js';
import type { ModelServer } from '../support/model-server.js';
import { type ServiceProcess, startService } from '../support/process.js';
import { runTurn, type Turn } from '../support/run-client.js';

/** A process of the built command. */
export interface Replica {
  readonly process: ServiceProcess;
  readonly baseUrl: string;
  status(): Promise<RefreshStatus>;
  turn(threadId: string, text: string): Promise<Turn>;
  get(path: string): Promise<{ status: number; body: unknown }>;
  refresh(toolset: string): Promise<{ outcome: string; generation: number }>;
}

export interface ReplicaOptions {
  readonly folder: string;
  readonly script: string;
  readonly mcpUrl: string;
  readonly model: ModelServer;
  readonly checkpoint: string;
  readonly env?: Readonly<Record<string, string>>;
}

const ADMIN = { authorization: 'Bearer admin-token', 'content-type': 'application/json' };

/** Starts the command and waits until it serves. It ends with the test. */
export async function startReplica({ folder, script, mcpUrl, model, checkpoint, env = {} }: ReplicaOptions): Promise<Replica> {
  const service = startService([], { ...environment({ mcpUrl, model, checkpoint }), ...env }, { script, cwd: folder });
  const { port } = JSON.parse(await service.line('"listening"')) as { port: number };
  await service.line('"ready for runs"');
  const baseUrl = `http://127.0.0.1:${port}`;
  const get = async (path: string) => {
    const response = await fetch(baseUrl + path, { headers: ADMIN });
    return { status: response.status, body: (await response.json()) as unknown };
  };
  return {
    process: service,
    baseUrl,
    get,
    status: async () => (await get('/refresh')).body as RefreshStatus,
    turn: (threadId, text) => runTurn(baseUrl, { threadId, text }),
    async refresh(toolset) {
      const response = await fetch(`${baseUrl}/refresh`, { method: 'POST', headers: ADMIN, body: JSON.stringify({ toolset }) });
      return (await response.json()) as { outcome: string; generation: number };
    },
  };
}

export function environment({ mcpUrl, model, checkpoint }: Pick<ReplicaOptions, 'mcpUrl' | 'model' | 'checkpoint'>) {
  return {
    MCP_URL: mcpUrl,
    MCP_AGENT_CHECKPOINT: checkpoint,
    MCP_AGENT_API_ADMIN_TOKEN: 'admin-token',
    PROVIDER_MODEL: 'openai:test-model',
    PROVIDER_API_KEY: 'test-key',
    PROVIDER_BASE_URL: model.baseUrl,
    PORT: '0',
  };
}
