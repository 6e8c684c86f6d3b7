import { stampOf } from '../fleet/tools.js';
import { machineNow } from '../harness/clock.js';
import { answerCommands, liveWithParent, tellParent } from '../harness/commands.js';
import { ask, greet, type Peer, subscribe, textOf } from './exchange.js';

/**
 * The floor: the same exchanges as the service makes, by `node:http` and `JSON.parse` alone, without an SDK, an agent or any check.
 * It speaks both protocol eras. Nobody could serve a change sooner or poll with less CPU in JavaScript.
 */

interface Toolset extends Peer {
  readonly name: string;
  description: string | undefined;
  timer: NodeJS.Timeout | undefined;
}

/** A server that is gone is asked again this soon, for ever. It is a floor: nobody should treat a server like this. */
const ASK_AGAIN_MS = 20;
const AT_ONCE = 8;

const toolsets = new Map<string, Toolset>();
let debounceMs = 0;

answerCommands({
  async start(options: { toolsets: { name: string; url: string }[]; debounceMs?: number }) {
    debounceMs = options.debounceMs ?? 0;
    await inParallel(options.toolsets, AT_ONCE, async ({ name, url }) => {
      const toolset: Toolset = { name, url, era: 'modern', session: '', description: undefined, timer: undefined };
      toolsets.set(name, toolset);
      await open(toolset);
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

/** Opens the exchange and the stream, and lists. */
async function open(toolset: Toolset): Promise<void> {
  await greet(toolset);
  const stream = await subscribe(toolset);
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
  // Whatever ended the stream is answered when it has closed.
  stream.on('error', () => undefined);
  stream.on('close', () => void openAgain(toolset));
  await list(toolset);
}

async function openAgain(toolset: Toolset): Promise<void> {
  try {
    await open(toolset);
  } catch {
    // The server is not back yet; it is asked until it is.
    setTimeout(() => void openAgain(toolset), ASK_AGAIN_MS);
  }
}

function later(toolset: Toolset): void {
  clearTimeout(toolset.timer);
  // A list that fails shows nothing new; the end of the stream, which follows, opens everything again.
  const listNow = () => void list(toolset).catch(() => undefined);
  if (debounceMs === 0) listNow();
  else toolset.timer = setTimeout(listNow, debounceMs);
}

async function list(toolset: Toolset): Promise<void> {
  const answer = await ask(toolset, { method: 'tools/list' });
  const { result } = JSON.parse(await textOf(answer)) as { result: { tools: { description: string }[] } };
  const description = result.tools[0]?.description;
  if (description === toolset.description) return;
  toolset.description = description;
  const stamp = stampOf(description);
  if (stamp !== undefined) tellParent({ event: 'served', toolset: toolset.name, revision: stamp.revision, at: machineNow() });
}

async function inParallel<T>(items: readonly T[], width: number, run: (item: T) => Promise<void>): Promise<void> {
  const left = [...items];
  const work = async () => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) await run(item);
  };
  await Promise.all(Array.from({ length: width }, work));
}
