import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startIndex } from '../tests/support/index-server.js';
import { startModelServer } from '../tests/support/model-server.js';
import { startService } from '../tests/support/process.js';
import { until } from '../tests/support/until.js';
import { Chance } from './chance.js';
import { wreak } from './chaos.js';
import { Memory } from './memory.js';
import { ERAS, Target } from './target.js';
import { Findings, talk } from './users.js';

const USERS = 6;
const PROGRESS_MS = 10_000;
/** The safety poll of the soak (20 s ± 10 %), twice a list's limit, and what a busy machine takes: whoever needs longer has not converged. */
const CONVERGED_WITHIN_MS = 60_000;

export interface SoakOptions {
  readonly minutes: number;
  /** Decides what happens and to whom; how fast the machine is decides the rest. */
  readonly seed: number;
  readonly toolsets: number;
  readonly main: string;
}

const say = (text: string) => void process.stdout.write(`${text}\n`);

/** Runs the service as a process over a fleet to which everything happens. Answers whether every promise was kept, and states the figures. */
export async function soak({ minutes, seed, toolsets, main }: SoakOptions): Promise<boolean> {
  const chance = new Chance(seed);
  const targets: Target[] = [];
  for (let number = 0; number < toolsets; number += 1)
    targets.push(await Target.start(`t${number}`, ERAS[number % ERAS.length] ?? 'legacy'));
  const index = await startIndex(Object.fromEntries(targets.map(({ name, url }) => [name, url])));
  const model = await startModelServer({ strict: true });
  const folder = await mkdtemp(join(tmpdir(), 'mcp-agent-api-soak-'));
  const service = startService(
    [],
    {
      MCP_URL: index.url,
      MCP_AGENT_API_REFRESH_SECONDS: '20',
      MCP_AGENT_API_POLLING_SECONDS: '2',
      MCP_AGENT_API_INDEX_SECONDS: '2',
      MCP_AGENT_API_LIST_TIMEOUT_SECONDS: '4',
      MCP_AGENT_API_TOOL_SECONDS: '10',
      MCP_AGENT_API_HEARTBEAT_SECONDS: '10',
      MCP_AGENT_API_ADMIN_TOKEN: 'soak',
      MCP_AGENT_CHECKPOINT: `sqlite:${join(folder, 'threads.db')}`,
      PROVIDER_MODEL: 'openai:soak',
      PROVIDER_API_KEY: 'soak',
      PROVIDER_BASE_URL: model.baseUrl,
      LOG_LEVEL: 'info',
      PORT: '0',
    },
    { script: resolve(main), cwd: folder },
  );
  const { port } = JSON.parse(await service.line('"listening"')) as { port: number };
  const baseUrl = `http://127.0.0.1:${port}`;
  await service.line('"ready for runs"', { timeoutMs: 60_000 });
  say(`soak: ${toolsets} toolsets, ${minutes} minutes, seed ${seed}, service ${service.pid}, threads in ${folder}`);

  const findings = new Findings();
  const memory = new Memory(baseUrl);
  const took: { readonly ms: number; readonly what: string; readonly name: string }[] = [];
  const counts = new Map<string, number>();
  const watching = new AbortController();
  const chaos = new AbortController();
  const users = new AbortController();
  const endsAt = performance.now() + minutes * 60_000;

  const watch = (async () => {
    let nextProgressAt = performance.now() + PROGRESS_MS;
    while (!watching.signal.aborted) {
      await sleep(200);
      const shown = await descriptionsOf(baseUrl).catch((error: unknown) => {
        findings.fault(`GET /connections failed: ${String(error)}`);
        return undefined;
      });
      const now = performance.now();
      for (const target of shown === undefined ? [] : targets) {
        if (target.busy || target.since === undefined || shown?.get(target.name) !== target.expected) continue;
        took.push({ ms: Math.max(0, now - target.since), what: target.what, name: target.name });
        target.since = undefined;
      }
      if (now < nextProgressAt) continue;
      nextProgressAt = now + PROGRESS_MS;
      await memory.sample();
      for (const { toolset } of targets) (toolset.requests as unknown[]).length = (toolset.calls as unknown[]).length = 0;
      const waiting = targets.filter(({ since, busy }) => since !== undefined && !busy);
      const oldest = Math.max(0, ...waiting.map(({ since = now }) => now - since));
      say(
        `${Math.max(0, Math.round((endsAt - now) / 1_000))} s left: ${took.length} changes converged (max ${seconds(Math.max(0, ...took.map(({ ms }) => ms)))}), ` +
          `${waiting.length} waiting (oldest ${seconds(oldest)}), ${findings.runs} runs, generation ${Math.max(0, ...findings.generations)}, ${memory.text()}, ${findings.faults.length} faults`,
      );
    }
  })();
  const talking = talk({ baseUrl, model, chance: new Chance(seed + 1), signal: users.signal, findings, users: USERS });
  const wreaking = wreak({ targets, index, chance, signal: chaos.signal, counts });
  let stopping = false;
  const crashed = service.exited.then((code) => {
    if (!stopping) findings.fault(`The service ended by itself with code ${code}.`);
  });
  await Promise.race([sleep(minutes * 60_000), crashed]);
  chaos.abort();
  await wreaking;
  for (const target of targets) if (target.since === undefined) target.since = performance.now();
  await until(() => targets.every(({ since }) => since === undefined), { timeoutMs: CONVERGED_WITHIN_MS }).catch(() => undefined);
  users.abort();
  await talking;
  watching.abort();
  await watch;

  const late = targets.filter(({ since }) => since !== undefined).map(({ name, era, what }) => `${name} (${era}, after ${what})`);
  if (late.length > 0) findings.fault(`Not converged: ${late.join(', ')}.`);
  const slow = took.filter(({ ms }) => ms > CONVERGED_WITHIN_MS);
  for (const { name, what, ms } of slow) findings.fault(`${name} took ${seconds(ms)} after ${what}.`);
  stopping = true;
  const code = await service.stop();
  if (code !== 0) findings.fault(`The service ended with code ${code}.`);
  for (const line of service.stderr) findings.fault(`On stderr: ${line.slice(0, 500)}`);
  for (const line of service.stdout.filter((text) => text.includes('"level":"error"')).slice(0, 5))
    findings.fault(`Logged: ${line.slice(0, 500)}`);
  const sessions = targets.reduce((sum, { toolset }) => sum + toolset.sessions(), 0);
  if (sessions > 0) say(`note: ${sessions} sessions are left at servers that could not be told goodbye`);
  if (!memory.isFlat()) findings.fault(`Memory grew: ${memory.text()}.`);

  const sorted = took.map(({ ms }) => ms).sort((one, other) => one - other);
  const quantile = (part: number) => seconds(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0);
  say(
    `happened: ${[...counts]
      .sort()
      .map(([what, count]) => `${what} ${count}`)
      .join(', ')}`,
  );
  say(
    `converged: ${late.length === 0 ? 'every toolset' : 'NOT every toolset'}; ${took.length} changes; p50 ${quantile(0.5)}, p99 ${quantile(0.99)}, max ${quantile(1)}`,
  );
  for (const each of took.toSorted((one, other) => other.ms - one.ms).slice(0, 5))
    say(`  ${seconds(each.ms)} ${each.name} after ${each.what}`);
  say(
    `runs: ${findings.runs}, of which ${findings.left} were left by the user; tool calls ${findings.calls}, of which ${findings.failedCalls} failed; generations seen ${findings.generations.size}`,
  );
  say(`memory: ${memory.text()}`);
  for (const fault of findings.faults) say(`FAULT ${fault}`);
  say(findings.faults.length === 0 ? 'soak: every promise was kept' : `soak: ${findings.faults.length} faults`);
  return findings.faults.length === 0;
}

/** What the service shows of each toolset's first tool. */
async function descriptionsOf(baseUrl: string): Promise<Map<string, string>> {
  const response = await fetch(`${baseUrl}/connections`);
  if (!response.ok) throw new Error(`HTTP ${response.status}`);
  const { tools } = (await response.json()) as { tools: { toolset: string; description: string }[] };
  return new Map(tools.map(({ toolset, description }) => [toolset, description]));
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(2)} s`;
}
