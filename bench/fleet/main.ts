import { setTimeout as sleep } from 'node:timers/promises';
import type { RawEra } from '../../tests/support/raw-state.js';
import { machineNow } from '../harness/clock.js';
import { answerCommands, liveWithParent } from '../harness/commands.js';
import type { FleetSpec, FleetTotals } from '../harness/fleet.js';

/** The fleet as a process of its own: many toolsets, an index that names them, and commands that make things happen to them. */

// The servers of tests/support clean up after each jest test; this process ends instead.
Object.assign(globalThis, { beforeEach: () => undefined, afterEach: () => undefined, afterAll: () => undefined });
const { startIndex } = await import('../../tests/support/index-server.js');
const { Simulated } = await import('./simulator.js');

const toolsets = new Map<string, InstanceType<typeof Simulated>>();

const named = (name: string) => {
  const found = toolsets.get(name);
  if (found === undefined) throw new Error(`There is no toolset ${name}.`);
  return found;
};
const some = (names: readonly string[] | undefined) => (names === undefined ? [...toolsets.values()] : names.map(named));

answerCommands({
  async start(spec: FleetSpec) {
    const eras = erasOf(spec);
    for (let number = 0; number < spec.toolsets; number++) {
      const toolset = new Simulated({
        name: `${spec.prefix ?? 't'}${number}`,
        era: eras[number % eras.length] ?? 'legacy',
        tools: spec.tools ?? 17,
        keepAliveMs: spec.keepAliveMs ?? 15_000,
        viewBytes: spec.viewBytes,
        port: number === 0 ? (spec.port ?? 0) : 0,
        revision: spec.revision ?? 0,
      });
      await toolset.start();
      toolsets.set(toolset.name, toolset);
    }
    const listeningAt = machineNow();
    const index = await startIndex(Object.fromEntries([...toolsets].map(([name, { url }]) => [name, url])));
    return { listeningAt, indexUrl: index.url, toolsets: [...toolsets].map(([name, { url }]) => ({ name, url })) };
  },
  change: ({ names, announce = true }: { names?: string[]; announce?: boolean }) =>
    some(names).map((toolset) => toolset.change({ announce })),
  async changeEvery({ name, everyMs, forMs }: { name: string; everyMs: number; forMs: number }) {
    const endsAt = machineNow() + forMs;
    let nextAt = machineNow();
    const changes = [];
    while (nextAt < endsAt) {
      changes.push(named(name).change({ announce: true }));
      nextAt += everyMs;
      await sleep(Math.max(0, nextAt - machineNow()));
    }
    return changes;
  },
  async announceMany({ name, times, overMs }: { name: string; times: number; overMs: number }) {
    const startedAt = machineNow();
    for (let sent = 0; sent < times; sent++) {
      named(name).announce();
      await sleep(Math.max(0, startedAt + ((sent + 1) * overMs) / times - machineNow()));
    }
  },
  changeView: ({ name }: { name: string }) => named(name).changeView(),
  kill: async ({ name }: { name: string }) => named(name).kill(),
  restart: async ({ name }: { name: string }) => named(name).restart(),
  hang: ({ name, on }: { name: string; on: boolean }) => named(name).hang(on),
  delay: ({ ms, names }: { ms: number; names?: string[] }) => {
    for (const toolset of some(names)) toolset.delay(ms);
  },
  counts: ({ names }: { names?: string[] }) => Object.fromEntries(some(names).map((toolset) => [toolset.name, toolset.counts()])),
  firsts: () => Object.fromEntries([...toolsets.values()].map((toolset) => [toolset.name, toolset.firsts()])),
  revisions: () => Object.fromEntries([...toolsets.values()].map(({ name, revision }) => [name, revision])),
  totals(): FleetTotals {
    const requests: Record<string, number> = {};
    const open = { sessions: 0, sockets: 0, streams: 0 };
    for (const toolset of toolsets.values()) {
      for (const [what, count] of Object.entries(toolset.counts())) requests[what] = (requests[what] ?? 0) + count;
      const now = toolset.open();
      open.sessions += now.sessions;
      open.sockets += now.sockets;
      open.streams += now.streams;
    }
    return { requests, ...open };
  },
  resetCounts() {
    for (const toolset of toolsets.values()) toolset.resetCounts();
  },
});
liveWithParent();

function erasOf({ era = 'legacy' }: FleetSpec): readonly RawEra[] {
  if (era === 'mixed') return ['legacy', 'modern'];
  return typeof era === 'string' ? [era] : era;
}
