import { execFile } from 'node:child_process';
import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { startModelServer } from '../support/model-server.js';
import { type ServiceProcess, startService } from '../support/process.js';
import { runTurn, type Turn } from '../support/run-client.js';
import { startSdkToolset } from '../support/sdk-toolset.js';
import type { InstalledPackage } from './installed-package.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const run = promisify(execFile);

/** Starts the demo, and asks it what its manual answers. */
export async function askDemo(
  installed: InstalledPackage,
): Promise<{ readonly demo: ServiceProcess; readonly url: string; readonly turn: Turn }> {
  const demo = installed.start(['demo']);
  const url = /http:\S+/.exec(await demo.line('demo, listening on'))?.[0] ?? '';
  return { demo, url, turn: await runTurn(url, { text: 'What does the manual say about refreshing?' }) };
}

/** Copies the example application out of the package, as somebody does who wants to try it, and lets it call a toolset's tool. */
export async function askHostApp(installed: InstalledPackage): Promise<{ readonly host: ServiceProcess; readonly turn: Turn }> {
  const script = join(installed.folder, 'host-app', 'app.js');
  await cp(join(installed.folder, 'node_modules', 'mcp-agent-api', 'examples', 'host-app'), join(installed.folder, 'host-app'), {
    recursive: true,
  });
  const inputSchema = { type: 'object', properties: { words: { type: 'string' } } } as const;
  const toolset = await startSdkToolset({
    era: 'legacy',
    tools: [{ name: 'search', description: 'Searches the manual', inputSchema, run: ({ words }) => `found ${String(words)}` }],
  });
  const model = await startModelServer({ strict: true });
  model.reply(({ body }) =>
    body.messages.at(-1)?.role === 'tool' ? { text: 'There it is.' } : { toolCalls: [{ name: 'search', args: { words: 'blue' } }] },
  );
  const host = startService(
    [],
    {
      MCP_URL: toolset.url,
      PROVIDER_MODEL: 'openai:test-model',
      PROVIDER_API_KEY: 'test-key',
      PROVIDER_BASE_URL: model.baseUrl,
      APP_USERS: 'ann=ann-token',
      PORT: '0',
    },
    { script, cwd: installed.folder, node: installed.node },
  );
  const { address } = JSON.parse(await host.line('"listening"')) as { address: { port: number } };
  await host.line('"ready for runs"');
  const turn = await runTurn(`http://127.0.0.1:${address.port}`, {
    path: '/agent/runs',
    threadId: 'ann:1',
    headers: { authorization: 'Bearer ann-token' },
    text: 'Search for blue.',
  });
  return { host, turn };
}

/** Starts the service on a toolset, with a model that answers every question. */
export async function startOnModelServer(
  installed: InstalledPackage,
  settings: Readonly<Record<string, string>>,
): Promise<{ readonly service: ServiceProcess; readonly url: string }> {
  const toolset = await startSdkToolset({ era: 'modern', tools: [{ name: 'search', description: 'Searches the manual' }] });
  const model = await startModelServer({ strict: true });
  model.reply(() => ({ text: 'I will.' }));
  const provider = { PROVIDER_MODEL: 'openai:test-model', PROVIDER_API_KEY: 'test-key', PROVIDER_BASE_URL: model.baseUrl };
  const service = installed.start([], { MCP_URL: toolset.url, ...provider, ...settings });
  const { port } = JSON.parse(await service.line('"listening"')) as { port: number };
  await service.line('"ready for runs"');
  return { service, url: `http://127.0.0.1:${port}` };
}

/** What the example in README leaves to its reader. */
const READERS_OWN = `import type { Request, RequestHandler } from 'express';
declare const apiKey: string;
declare const signal: AbortSignal;
declare const requireUser: RequestHandler;
declare function isAdministrator(request: Request): boolean;
`;

/** Compiles README's example, followed by the given lines, as a TypeScript project does that checks its libraries too. Returns what the compiler says. */
export async function compileReadmeExample(installed: InstalledPackage, more = ''): Promise<string> {
  const readme = await readFile(join(installed.folder, 'node_modules', 'mcp-agent-api', 'README.md'), 'utf8');
  const [, example = ''] = /^```ts\n([\s\S]*?)^```$/m.exec(readme) ?? [];
  await writeFile(join(installed.folder, 'example.ts'), `${READERS_OWN}${example}${more}`);
  const compilerOptions = { target: 'ES2023', module: 'nodenext', strict: true, noEmit: true, skipLibCheck: false, types: ['node'] };
  await writeFile(join(installed.folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['example.ts'] }));
  const compiler = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
  const { stdout } = await run(process.execPath, [compiler, '-p', installed.folder]).catch(
    // The compiler's complaints are the answer here, whether it ends well or not.
    (error: { stdout?: string }) => ({ stdout: error.stdout ?? String(error) }),
  );
  return stdout;
}
