import { spawn } from 'node:child_process';
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'yaml';
import { buildCommand } from '../flows/build.js';
import { type Fleet, startFleet, tool } from '../flows/fleet.js';
import { type SdkToolset, startSdkToolset } from '../support/sdk-toolset.js';

interface Step {
  readonly name?: string;
  readonly uses?: string;
  readonly run?: string;
}

interface Workflow {
  readonly jobs: { readonly deploy: { readonly env: Readonly<Record<string, string>>; readonly steps: readonly Step[] } };
}

let folder: string;
let workflow: Workflow['jobs']['deploy'];

beforeAll(async () => {
  const page = await readFile('docs/toolset-authors.md', 'utf8');
  const [, text = ''] = /^```yaml\n([\s\S]*?)^```$/m.exec(page) ?? [];
  workflow = (parse(text) as Workflow).jobs.deploy;
  const built = await buildCommand();
  folder = join(built.folder, 'pipeline');
  await mkdir(folder);
  // What the deployment itself does is up to the toolset; here the test changes the tools.
  await script('deploy.sh', 'exit 0');
  // The package comes from this build instead of the registry.
  await script('npx', `[ "$1 $2" = "--yes mcp-agent-api" ] || exit 99\nshift 2\nexec "${process.execPath}" "${built.script}" "$@"`);
}, 120_000);

async function script(name: string, text: string): Promise<void> {
  await writeFile(join(folder, name), `#!/bin/sh\n${text}\n`);
  await chmod(join(folder, name), 0o755);
}

/** Runs the workflow's commands as the runner does: one shell a step, which stops at the first failure. Returns what was printed. */
async function runPipeline(
  fleet: Fleet,
  toolset: SdkToolset,
  onDeployed: () => void,
): Promise<{ code: number; output: string; failedAt?: string }> {
  const values: Record<string, string> = {
    ...workflow.env,
    TOOLSET_URL: toolset.url,
    AGENT_URL: fleet.baseUrl,
    MCP_AGENT_API_REFRESH_TOKEN: 'kb-token',
  };
  const environmentFile = join(folder, 'environment');
  await writeFile(environmentFile, '');
  let output = '';
  for (const { name, run } of workflow.steps) {
    if (run === undefined) continue;
    const added = (await readFile(environmentFile, 'utf8')).split('\n').filter((line) => line.includes('='));
    const env = {
      ...{ ...values, PATH: `${folder}:${process.env.PATH}`, HOME: process.env.HOME, GITHUB_ENV: environmentFile },
      ...Object.fromEntries(added.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)])),
    };
    const child = spawn('bash', ['-e', '-c', run], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (text) => {
        output += String(text);
      });
    const code = await new Promise<number>((resolve, reject) => {
      child.once('error', reject);
      child.once('close', (exit) => resolve(exit ?? 1));
    });
    if (code !== 0) return { code, output, failedAt: name };
    if (run === './deploy.sh') onDeployed();
  }
  return { code: 0, output };
}

/** A toolset that cannot announce anything, and a service that does not poll: only the pipeline can have brought the change. */
async function startQuiet() {
  const toolset = await startSdkToolset({ era: 'stateless', tools: [tool('search', 'Old.')] });
  const env = { MCP_AGENT_API_REFRESH_SECONDS: '0', MCP_AGENT_API_REFRESH_TOKENS: 'knowledge-base=kb-token' };
  return { toolset, fleet: await startFleet({ 'knowledge-base': toolset.url }, { env }) };
}

test('the pipeline of docs/toolset-authors.md ends when the agents use the deployed tools', async () => {
  const { toolset, fleet } = await startQuiet();
  const result = await runPipeline(fleet, toolset, () => toolset.setTools([tool('search', 'New.')], { notify: false }));
  expect(result).toMatchObject({ code: 0 });
  expect(result.output).toContain('swapped: ');
  expect(await fleet.shown()).toEqual({ search: 'New.' });
}, 60_000);

test('the pipeline fails where the deployed server does not answer', async () => {
  const { toolset, fleet } = await startQuiet();
  await toolset.kill();
  const result = await runPipeline(fleet, toolset, () => undefined);
  expect(result).toMatchObject({ code: 1, failedAt: 'Read the fingerprint of what was deployed' });
  expect(result.output).toContain('TOOLSET_UNREACHABLE');
}, 60_000);
