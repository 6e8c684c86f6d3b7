import { type Agent, request as httpRequest, type IncomingMessage, Agent as NodeAgent } from 'node:http';
import { stampOf } from '../fleet/tools.js';
import { machineNow } from '../harness/clock.js';
import { answerCommands, liveWithParent, tellParent } from '../harness/commands.js';

/**
 * The floor: the same exchanges as the service makes, by `node:http` and `JSON.parse` alone, without an SDK, an agent or any check.
 * It speaks to 2025-era servers with sessions. Nobody could serve a change sooner or poll with less CPU in JavaScript.
 */

interface Toolset {
  readonly name: string;
  readonly url: string;
  session: string;
  description: string | undefined;
  timer: NodeJS.Timeout | undefined;
}

const agent: Agent = new NodeAgent({ keepAlive: true });
const toolsets = new Map<string, Toolset>();
let debounceMs = 0;

answerCommands({
  async start(options: { toolsets: { name: string; url: string }[]; debounceMs?: number }) {
    debounceMs = options.debounceMs ?? 0;
    await inParallel(options.toolsets, 8, async ({ name, url }) => {
      const toolset: Toolset = { name, url, session: '', description: undefined, timer: undefined };
      toolsets.set(name, toolset);
      await open(toolset);
      await list(toolset);
    });
  },
  serves: ({ toolset }: { toolset: string }) => stampOf(toolsets.get(toolset)?.description) ?? null,
  /** One `tools/list`, and how long it took in milliseconds. */
  async list({ toolset }: { toolset: string }) {
    const startedAt = machineNow();
    await list(known(toolset));
    return machineNow() - startedAt;
  },
  /** Lists every toolset once, spread evenly over `overMs`. */
  async poll({ overMs }: { overMs: number }) {
    const all = [...toolsets.values()];
    const startedAt = machineNow();
    await Promise.all(
      all.map(async (toolset, number) => {
        await new Promise((resolve) => setTimeout(resolve, startedAt + (number * overMs) / all.length - machineNow()));
        await list(toolset);
      }),
    );
  },
});

liveWithParent();

function known(name: string): Toolset {
  const found = toolsets.get(name);
  if (found === undefined) throw new Error(`There is no toolset ${name}.`);
  return found;
}

async function open(toolset: Toolset): Promise<void> {
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'floor', version: '1.0.0' } };
  const answer = await post(toolset, { jsonrpc: '2.0', id: 1, method: 'initialize', params });
  toolset.session = String(answer.headers['mcp-session-id'] ?? '');
  await textOf(answer);
  await textOf(await post(toolset, { jsonrpc: '2.0', method: 'notifications/initialized' }));
  const stream = await send(toolset, { method: 'GET', headers: { accept: 'text/event-stream' } });
  let rest = '';
  stream.setEncoding('utf8');
  stream.on('data', (text: string) => {
    rest += text;
    for (let end = rest.indexOf('\n\n'); end >= 0; end = rest.indexOf('\n\n')) {
      const event = rest.slice(0, end);
      rest = rest.slice(end + 2);
      if (event.includes('notifications/tools/list_changed')) later(toolset);
    }
  });
  // The floor does not recover: it shows what an exchange costs, not how to keep one.
  stream.on('error', () => undefined);
}

function later(toolset: Toolset): void {
  if (debounceMs === 0) return void list(toolset);
  clearTimeout(toolset.timer);
  toolset.timer = setTimeout(() => void list(toolset), debounceMs);
}

async function list(toolset: Toolset): Promise<void> {
  const answer = await post(toolset, { jsonrpc: '2.0', id: 2, method: 'tools/list', params: {} });
  const { result } = JSON.parse(await textOf(answer)) as { result: { tools: { description: string }[] } };
  const description = result.tools[0]?.description;
  if (description === toolset.description) return;
  toolset.description = description;
  const stamp = stampOf(description);
  if (stamp !== undefined) tellParent({ event: 'served', toolset: toolset.name, revision: stamp.revision, at: machineNow() });
}

function post(toolset: Toolset, message: object): Promise<IncomingMessage> {
  const body = JSON.stringify(message);
  const headers = {
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(body)),
    accept: 'application/json, text/event-stream',
  };
  return send(toolset, { method: 'POST', headers, body });
}

function send(
  { url, session }: Toolset,
  { method, headers, body }: { method: string; headers: Record<string, string>; body?: string },
): Promise<IncomingMessage> {
  const known = session === '' ? {} : { 'mcp-session-id': session, 'mcp-protocol-version': '2025-11-25' };
  return new Promise((resolve, reject) => {
    const request = httpRequest(url, { method, agent, headers: { ...headers, ...known } }, resolve);
    request.on('error', reject);
    request.end(body);
  });
}

async function textOf(answer: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of answer) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

async function inParallel<T>(items: readonly T[], width: number, run: (item: T) => Promise<void>): Promise<void> {
  const left = [...items];
  const work = async () => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) await run(item);
  };
  await Promise.all(Array.from({ length: width }, work));
}
