import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readConfig } from '../../src/config.js';
import type { Logger } from '../../src/core/ports.js';
import { demoEnvironment } from '../../src/demo/demo.js';
import { DemoModel } from '../../src/demo/model.js';
import { type DemoToolsets, startDemoToolsets } from '../../src/demo/toolsets/demo-toolsets.js';
import { closeServer, listen } from '../../src/http/application.js';
import { type App, createApp } from '../../src/service.js';
import { onCleanup } from '../support/cleanup.js';
import { copyShippedDefinitions } from '../support/shipped-demo.js';

const quiet: Logger = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

export interface ServiceOptions {
  readonly pageFolder: string;
  /** For `MCP_URL`. */
  readonly mcpUrl: string;
  /** Environment variables, over those of the demo. */
  readonly env?: Readonly<Record<string, string>>;
}

export interface Service {
  readonly baseUrl: string;
  readonly app: App;
}

/** The service with the page and the demo's model, on whatever toolsets the index names. It ends with the test. */
export async function startService({ pageFolder, mcpUrl, env = {} }: ServiceOptions): Promise<Service> {
  const config = readConfig({ ...demoEnvironment({}, mcpUrl), ...env });
  const app = await createApp(config, { model: new DemoModel(), env, logger: quiet, pageFolder });
  onCleanup(() => app.stop());
  const server = await listen(app.application, { host: '127.0.0.1', port: 0 });
  onCleanup(() => closeServer(server, 0));
  await app.start();
  return { baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, app };
}

export interface Demo extends Service {
  /** Edits a toolset's definition file, as its author does. */
  edit(toolset: keyof DemoToolsets['files'], from: string, to: string): void;
}

/** The demo with the page, on definition files that the test may edit. */
export async function startDemoService(pageFolder: string): Promise<Demo> {
  const definitionsDir = mkdtempSync(join(tmpdir(), 'demo-test-'));
  onCleanup(() => rmSync(definitionsDir, { recursive: true }));
  copyShippedDefinitions(definitionsDir);
  const toolsets = await startDemoToolsets({ definitionsDir, dataDir: 'demo/data', logger: quiet });
  onCleanup(() => toolsets.close());
  const service = await startService({ pageFolder, mcpUrl: toolsets.indexUrl });
  return {
    ...service,
    edit(toolset, from, to) {
      const text = readFileSync(toolsets.files[toolset], 'utf8');
      if (!text.includes(from)) throw new Error(`The definition of ${toolset} does not contain ${JSON.stringify(from)}.`);
      writeFileSync(toolsets.files[toolset], text.replace(from, to));
    },
  };
}
