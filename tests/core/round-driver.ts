import { assembleCatalog } from '../../src/core/catalog.js';
import { CodedError, type ErrorCode } from '../../src/core/errors.js';
import { beginRounds, nextWakeAt, step } from '../../src/core/round.js';
import type { ConcludedRound, RoundEffect, RoundEvent, RoundSettings, Rounds } from '../../src/core/round-state.js';
import { type Snapshot, takeSnapshot, toolsetId } from '../../src/core/snapshot.js';

/** What a simulated toolset answers: the description of its one tool, an empty list, or a failure. */
export type Content = string | 'EMPTY' | { readonly fails: ErrorCode };

export interface SimulatedToolset {
  readonly name: string;
  readonly url: string;
  content: Content;
  /** How long a list takes, in milliseconds. */
  takesMs: number;
  declaresTools: boolean;
  lists: number;
  /** When each list began. */
  readonly listedAt: number[];
}

interface Scheduled {
  readonly at: number;
  readonly order: number;
  readonly run: () => void;
}

const SETTINGS: RoundSettings = { debounceMs: 100, pollMs: 0, pollingMs: 0 };

export function idOf(name: string, url = `http://${name}`): string {
  return toolsetId(name, url);
}

export function snapshotOf(name: string, content: string, url = `http://${name}`): Snapshot {
  const tools = content === 'EMPTY' ? [] : [{ name: `${name}_tool`, description: content, inputSchema: { type: 'object' } }];
  return takeSnapshot({ endpoint: { name, url, credentialHeaders: [] }, list: { tools, instructions: undefined } });
}

/**
 * Runs the rounds on simulated time: carries the effects out against simulated toolsets and records what happens. Builds take
 * no time; `refuses` decides which catalogs cannot be built.
 */
export class RoundDriver {
  now = 0;
  state: Rounds;
  readonly toolsets = new Map<string, SimulatedToolset>();
  readonly rounds: (ConcludedRound & { readonly at: number })[] = [];
  readonly effects: { readonly at: number; readonly effect: RoundEffect }[] = [];
  refuses: (descriptions: readonly string[]) => boolean = () => false;
  builds = 0;
  inFlight = 0;
  mostInFlightPerToolset = 0;
  readonly #scheduled: Scheduled[] = [];
  readonly #perToolset = new Map<string, number>();
  #order = 0;
  #seed = 7;

  constructor(settings: Partial<RoundSettings> = {}) {
    this.state = beginRounds({ ...SETTINGS, ...settings });
  }

  /** Adds a toolset to the simulated world (not to the index). */
  add(name: string, content: Content = 'v1', { url = `http://${name}`, takesMs = 5 } = {}): SimulatedToolset {
    const toolset: SimulatedToolset = { name, url, content, takesMs, declaresTools: true, lists: 0, listedAt: [] };
    this.toolsets.set(toolsetId(name, url), toolset);
    return toolset;
  }

  /** The index names these toolsets now; all that were added, without arguments. */
  index(...ids: string[]): void {
    const named = ids.length === 0 ? [...this.toolsets.keys()] : ids;
    this.dispatch({ type: 'index', toolsets: named.map((id) => ({ id, name: this.toolsets.get(id)?.name ?? id })) });
  }

  notify(name: string): void {
    this.dispatch({ type: 'signal', id: idOf(name), trigger: 'notification' });
  }

  watch(name: string, watching = true): void {
    this.dispatch({ type: 'watching', id: idOf(name), watching });
  }

  dispatch(event: RoundEvent): void {
    const { state, effects } = step(this.state, event, { now: this.now, random: () => this.#random() });
    this.state = state;
    for (const effect of effects) {
      this.effects.push({ at: this.now, effect });
      this.#carryOut(effect);
    }
  }

  at(delayMs: number, run: () => void): void {
    this.#scheduled.push({ at: this.now + delayMs, order: ++this.#order, run });
  }

  /** Lets simulated time pass. */
  run(forMs: number): void {
    const until = this.now + forMs;
    for (let steps = 0; steps < 200_000; steps++) {
      const wakeAt = nextWakeAt(this.state, this.now);
      const next = this.#scheduled.reduce<Scheduled | undefined>((first, one) => (isBefore(one, first) ? one : first), undefined);
      const at = Math.min(wakeAt, next?.at ?? Number.POSITIVE_INFINITY);
      if (at > until) {
        this.now = until;
        return;
      }
      this.now = Math.max(this.now, at);
      if (next !== undefined && next.at <= wakeAt) {
        this.#scheduled.splice(this.#scheduled.indexOf(next), 1);
        next.run();
      } else this.dispatch({ type: 'time' });
    }
    throw new Error('The rounds never come to rest: time does not move on.');
  }

  /** What the live generation shows: the description of each toolset's tool. */
  get live(): Record<string, string> {
    const snapshots = this.state.live?.snapshots ?? [];
    return Object.fromEntries(snapshots.map(({ toolset, tools }) => [toolset, tools.map(({ description }) => description).join()]));
  }

  get outcomes(): string[] {
    return this.rounds.map(({ outcome, trigger }) => `${outcome} by ${trigger}`);
  }

  effectsOf<Type extends RoundEffect['type']>(type: Type): (Extract<RoundEffect, { type: Type }> & { at: number })[] {
    return this.effects.flatMap(({ at, effect }) =>
      effect.type === type ? [{ ...(effect as Extract<RoundEffect, { type: Type }>), at }] : [],
    );
  }

  #carryOut(effect: RoundEffect): void {
    if (effect.type === 'list') this.#list(effect.id, effect.list);
    if (effect.type === 'concluded') this.rounds.push({ ...effect.record, at: this.now });
    if (effect.type === 'build') this.at(0, () => this.#build(effect));
  }

  #list(id: string, list: number): void {
    const toolset = this.toolsets.get(id);
    if (toolset === undefined) return;
    toolset.lists += 1;
    toolset.listedAt.push(this.now);
    const { content, takesMs, declaresTools } = toolset;
    const inFlight = (this.#perToolset.get(id) ?? 0) + 1;
    this.#perToolset.set(id, inFlight);
    this.mostInFlightPerToolset = Math.max(this.mostInFlightPerToolset, inFlight);
    this.at(0, () => this.dispatch({ type: 'started', id, list }));
    this.at(takesMs, () => {
      this.#perToolset.set(id, (this.#perToolset.get(id) ?? 1) - 1);
      if (typeof content === 'object') {
        this.dispatch({ type: 'failed', id, list, error: new CodedError(content.fails, 'simulated', { toolset: toolset.name }) });
      } else this.dispatch({ type: 'listed', id, list, snapshot: snapshotOf(toolset.name, content, toolset.url), declaresTools });
    });
  }

  #build({ base, changes }: Extract<RoundEffect, { type: 'build' }>): void {
    const accepted: (typeof changes)[number][] = [];
    const rejected: string[] = [];
    const attempt = (tried: readonly (typeof changes)[number][]) => {
      this.builds += 1;
      const byName = new Map(base?.snapshots.map((snapshot) => [snapshot.toolset, snapshot]));
      for (const { name, snapshot } of tried) snapshot === null ? byName.delete(name) : byName.set(name, snapshot);
      const catalog = assembleCatalog(byName.values());
      const descriptions = catalog.snapshots.flatMap(({ tools }) => tools.map(({ description }) => String(description)));
      return this.refuses(descriptions) ? null : catalog;
    };
    let catalog = attempt(changes);
    if (catalog !== null) accepted.push(...changes);
    else {
      for (const change of changes) {
        const next = changes.length === 1 ? null : attempt([...accepted, change]);
        if (next === null) rejected.push(change.name);
        else {
          accepted.push(change);
          catalog = next;
        }
      }
    }
    const error = rejected.length === 0 ? null : new CodedError('BUILD_FAILED', 'simulated');
    this.dispatch({ type: 'built', accepted: accepted.map(({ name }) => name), rejected, error, catalog });
  }

  #random(): number {
    this.#seed = (this.#seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    return this.#seed / 2_147_483_648;
  }
}

function isBefore(one: Scheduled, other: Scheduled | undefined): boolean {
  return other === undefined || one.at < other.at || (one.at === other.at && one.order < other.order);
}
