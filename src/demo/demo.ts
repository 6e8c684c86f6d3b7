import { rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Environment } from '../config/setting.js';
import { isLoopback } from '../config.js';
import type { Logger } from '../core/ports.js';
import { openDefinitionsFolder } from './definitions-folder.js';
import { DemoModel } from './model.js';
import { type DemoToolsets, startDemoToolsets } from './toolsets/demo-toolsets.js';

const DEMO = fileURLToPath(new URL('../../demo/', import.meta.url));

/** Administrators' token where only this machine reaches the demo, so that refreshing by hand can be tried. */
export const DEMO_ADMIN_TOKEN = 'demo';

/** The demo's toolsets, running, and its model. */
export interface Demo {
  /** For `MCP_URL`. */
  readonly indexUrl: string;
  readonly model: DemoModel;
  /** The definition file of each toolset; saving one redeploys that toolset. */
  readonly files: DemoToolsets['files'];
  /** The MCP endpoint of each toolset. */
  readonly urls: DemoToolsets['urls'];
  close(): Promise<void>;
}

/** Starts the demo's toolsets on loopback HTTP. No key and no network are needed. Throws an Error when a definition file is broken. */
export async function startDemo(options: { readonly logger: Logger }): Promise<Demo> {
  const folder = openDefinitionsFolder(`${DEMO}toolsets`);
  const toolsets = await startDemoToolsets({ definitionsDir: folder.path, dataDir: `${DEMO}data`, logger: options.logger });
  return {
    indexUrl: toolsets.indexUrl,
    model: new DemoModel(),
    files: toolsets.files,
    urls: toolsets.urls,
    async close() {
      await toolsets.close();
      if (folder.kind === 'copy') rmSync(folder.path, { recursive: true, force: true });
    },
  };
}

/**
 * The environment that the demo's service is configured from: what the user set, with the demo's own index and model in place of
 * the user's, threads in memory, the page on, an administrators' token on loopback, and logs for people.
 */
export function demoEnvironment(env: Environment, indexUrl: string): Environment {
  return {
    ...env,
    MCP_URL: indexUrl,
    PROVIDER_MODEL: 'demo:built-in',
    PROVIDER_BASE_URL: undefined,
    MCP_AGENT_API_REQUIRED: undefined,
    MCP_AGENT_API_REVIEW: undefined,
    MCP_AGENT_CHECKPOINT: undefined,
    MCP_AGENT_API_ADMIN_TOKEN: env.MCP_AGENT_API_ADMIN_TOKEN || (isLoopback(env.HOST || '127.0.0.1') ? DEMO_ADMIN_TOKEN : undefined),
    MCP_AGENT_API_UI: env.MCP_AGENT_API_UI || 'on',
    LOG_FORMAT: env.LOG_FORMAT || 'pretty',
  };
}
