import { setTimeout as sleep } from 'node:timers/promises';
import type { IndexServer } from '../tests/support/index-server.js';
import type { Chance } from './chance.js';
import { ERAS, type Target } from './target.js';

type Act = (target: Target, chance: Chance) => Promise<void>;

const redeploy: Act = async (target, chance) => {
  if (chance.next() < 0.5) await target.toolset.kill();
  else await target.toolset.stop();
  await sleep(chance.between(0, 4_000));
  await target.toolset.restart({ tools: target.nextTools() });
};

/** What happens to toolsets, by name. Each act leaves its toolset reachable and complete. */
const ACTS: Readonly<Record<string, Act>> = {
  redeploy,
  async flip(target, chance) {
    target.era = chance.pick(ERAS.filter((era) => era !== target.era));
    await target.toolset.restart({ era: target.era, tools: target.nextTools() });
  },
  async cut({ proxy }, chance) {
    proxy.cut(chance.pick(['fin', 'rst']));
  },
  async 'half-close'({ proxy }) {
    proxy.halfClose();
  },
  async 'black hole'(target, chance) {
    const way = chance.pick(['up', 'down', 'both'] as const);
    target.proxy.blackHole(way, true);
    target.toolset.setTools(target.nextTools());
    await sleep(chance.between(500, 8_000));
    target.proxy.blackHole(way, false);
  },
  async 'black hole on open connections'(target, chance) {
    target.proxy.blackHoleOpen(chance.pick(['up', 'down', 'both']));
    target.toolset.setTools(target.nextTools());
  },
  async refuse({ proxy }, chance) {
    proxy.refuse(true);
    proxy.cut('rst');
    await sleep(chance.between(500, 6_000));
    proxy.refuse(false);
  },
  async slow(target, chance) {
    target.proxy.delayMs = chance.between(50, 800);
    target.toolset.setTools(target.nextTools());
    await sleep(chance.between(1_000, 6_000));
    target.proxy.delayMs = 0;
  },
  async storm(target, chance) {
    const tools = target.nextTools();
    for (let count = 0; count < 50; count += 1) {
      target.toolset.notify();
      await sleep(chance.between(0, 40));
    }
    target.toolset.setTools(tools);
  },
  async 'warm up'(target, chance) {
    await target.toolset.restart({ tools: [] });
    await sleep(chance.between(200, 1_500));
    target.toolset.setTools(target.nextTools());
  },
};

/** Silent changes are found by polls only, and plain ones are what happens most. */
const OFTEN = ['change', 'change', 'change', 'silent change'] as const;

export interface ChaosOptions {
  readonly targets: readonly Target[];
  readonly index: IndexServer;
  readonly chance: Chance;
  readonly signal: AbortSignal;
  readonly counts: Map<string, number>;
}

/** Does one thing after the other to toolsets that are left alone at present, until the signal; then waits for what is under way. */
export async function wreak({ targets, index, chance, signal, counts }: ChaosOptions): Promise<void> {
  const under = new Set<Promise<void>>();
  const publish = () => index.set(Object.fromEntries(targets.filter(({ listed }) => listed).map(({ name, url }) => [name, url])));
  while (!signal.aborted) {
    // The end of the soak ends the pause; the loop looks at the signal itself.
    await sleep(chance.between(100, 1_500), undefined, { signal }).catch(() => undefined);
    const idle = targets.filter(({ busy }) => !busy);
    if (idle.length === 0) continue;
    const target = chance.pick(idle);
    const what = chance.pick([...OFTEN, ...Object.keys(ACTS), 'index']);
    counts.set(what, (counts.get(what) ?? 0) + 1);
    const work = async () => {
      target.busy = true;
      target.what = what;
      if (what === 'index') await toggle(target, { publish, chance });
      else if (what === 'change' || what === 'silent change') target.toolset.setTools(target.nextTools(), { notify: what === 'change' });
      else await ACTS[what]?.(target, chance);
      target.since = performance.now();
      target.busy = false;
    };
    const done: Promise<void> = work().finally(() => under.delete(done));
    under.add(done);
  }
  await Promise.all(under);
  for (const target of targets) target.listed = true;
  publish();
}

/** Takes a toolset out of the index, or puts it back. Few are out at once, for when half of them vanish the service waits for a minute. */
async function toggle(target: Target, { publish, chance }: { publish: () => void; chance: Chance }): Promise<void> {
  target.listed = !target.listed;
  publish();
  await sleep(chance.between(0, 100));
}
