import { CodedError } from '../core/errors.js';
import type { Clock, Logger, SessionStatus } from '../core/ports.js';
import { beginRounds, nextWakeAt, step } from '../core/round.js';
import type { ConcludedRound, RoundEffect, RoundEvent, Rounds, Toolset } from '../core/round-state.js';
import { takeSnapshot } from '../core/snapshot.js';
import type { ToolsetState } from '../core/status.js';
import { openPool, type SessionPool } from '../mcp/session-pool.js';
import { IndexReader, type NamedToolset } from './index-reader.js';
import { Lister } from './lister.js';
import type { EndedList, RefresherOptions, ToolsetChange, ViewChange } from './options.js';
import { asCoded, isListing, logState, stateOf } from './status-report.js';
import { watchForSuspend } from './suspend.js';
import { ViewWatch } from './view-watch.js';

type BuildEffect = Extract<RoundEffect, { type: 'build' }>;

/** What a watcher tells the refresher that it works for. Called synchronously, in the order of the decisions. */
export interface WatcherOwner {
  build(effect: BuildEffect): void;
  concluded(record: ConcludedRound): void;
  stateChanged(change: ToolsetChange): void;
  listEnded(list: EndedList): void;
  viewChanged(change: ViewChange): void;
  signalMissed(missed: { readonly toolset: string; readonly missedSignals: number }): void;
  /** Something was decided; the answers to questions about readiness may have changed. */
  stepped(): void;
}

export interface WatcherOptions {
  readonly settings: Omit<RefresherOptions<unknown>, 'build'>;
  readonly pollMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly owner: WatcherOwner;
}

/** Watches every toolset of the index: feeds the rounds of core/ with what happens, and carries their decisions out. */
export class Watcher {
  readonly pool: SessionPool;
  readonly index: IndexReader;
  readonly views: ViewWatch;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #owner: WatcherOwner;
  readonly #lister: Lister;
  readonly #named = new Map<string, NamedToolset>();
  readonly #states = new Map<string, ToolsetState>();
  readonly #events: RoundEvent[] = [];
  #rounds: Rounds;
  #dispatching = false;
  #stopped = false;
  #cancelWake: () => void = () => undefined;
  #stopSuspendWatch: () => void = () => undefined;

  constructor({ settings, pollMs, clock, logger, owner }: WatcherOptions) {
    this.#clock = clock;
    this.#logger = logger;
    this.#owner = owner;
    const { env = process.env, debounceMs = 100 } = settings;
    const timeoutMs = (settings.listTimeoutSeconds ?? 10) * 1_000;
    const pollingMs = Math.min(pollMs, (settings.pollingSeconds ?? 30) * 1_000);
    this.#rounds = beginRounds({ debounceMs, pollMs, pollingMs });
    this.#lister = new Lister({ timeoutMs, clock, onEnded: (list) => owner.listEnded(list) });
    this.views = new ViewWatch({
      ...{ clock, logger, debounceMs, timeoutSeconds: timeoutMs / 1_000, keepSeconds: settings.viewSeconds ?? 3_600 },
      sessionOf: (id) => this.pool.find(id),
      isListing: (id) => isListing(this.#rounds.toolsets.get(id), clock.now() + debounceMs),
      onChanged: (change) => owner.viewChanged(change),
    });
    this.pool = openPool({
      ...{ clock, env, logger },
      heartbeatSeconds: settings.heartbeatSeconds ?? 60,
      onSignal: (id, kind) => this.dispatch({ type: 'signal', id, trigger: kind }),
      onStatus: (id, status) => this.#receiveStatus(id, status),
      onViewsChanged: (id, uri) => this.views.signalled(id, uri),
    });
    this.index = new IndexReader({
      url: settings.url,
      everyMs: (settings.indexSeconds ?? (pollMs === 0 ? 0 : 60)) * 1_000,
      ...{ timeoutMs, env, clock, logger },
      onToolsets: (toolsets) => this.#receiveIndex(toolsets),
      onFailure: (error) => this.dispatch({ type: 'index-failed', error }),
      hasAnswered: (id) => this.#rounds.toolsets.get(id)?.listedAt != null,
    });
  }

  start(): void {
    this.#stopSuspendWatch = watchForSuspend(this.#clock, () => this.#listEverything());
    this.index.start();
  }

  /** Ends every timer, list and session. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancelWake();
    this.#stopSuspendWatch();
    this.index.stop();
    this.#lister.cancelAll();
    this.views.stop();
    await this.pool.closeAll();
  }

  get toolsets(): readonly Toolset[] {
    return [...this.#rounds.toolsets.values()];
  }

  /** The URL of a toolset; empty where the index has no usable entry for it. */
  urlOf(id: string): string {
    const endpoint = this.#named.get(id)?.endpoint;
    return endpoint === undefined || endpoint instanceof CodedError ? '' : endpoint.url;
  }

  /** Events are taken one after another, also when an effect causes the next one. */
  dispatch(event: RoundEvent): void {
    if (this.#stopped) return;
    this.#events.push(event);
    if (this.#dispatching) return;
    this.#dispatching = true;
    try {
      for (let next = this.#events.shift(); next !== undefined; next = this.#events.shift()) this.#take(next);
    } finally {
      this.#dispatching = false;
    }
    this.#armWake();
  }

  #take(event: RoundEvent): void {
    const moment = { now: this.#clock.now(), random: () => this.#clock.random() };
    const { state, effects } = step(this.#rounds, event, moment);
    this.#rounds = state;
    for (const effect of effects) this.#carryOut(effect);
    if ('id' in event && event.id !== undefined) this.#noteState(event.id);
    this.#owner.stepped();
  }

  #armWake(): void {
    this.#cancelWake();
    if (this.#stopped) return;
    const now = this.#clock.now();
    const at = nextWakeAt(this.#rounds, now);
    if (!Number.isFinite(at)) return;
    this.#cancelWake = this.#clock.after(Math.max(0, at - now), () => this.dispatch({ type: 'time' }));
  }

  #carryOut(effect: RoundEffect): void {
    switch (effect.type) {
      case 'list':
        void this.#list(effect);
        return;
      case 'leave-place':
        this.#lister.leavePlace(effect.list);
        return;
      case 'build':
        this.#owner.build(effect);
        return;
      case 'concluded':
        this.#owner.concluded(effect.record);
        return;
      case 'missed':
        this.#reportMissed(effect.id);
        return;
      case 'dismissed':
        this.#named.delete(effect.id);
        this.#states.delete(effect.id);
        this.pool.dismiss(effect.id);
        this.views.dismissed(effect.id);
        return;
      case 'failing':
      case 'recovered':
        this.#noteState(effect.id);
        return;
    }
  }

  async #list({ id, list, notified }: Extract<RoundEffect, { type: 'list' }>): Promise<void> {
    const named = this.#named.get(id);
    if (named === undefined) return;
    try {
      if (named.endpoint instanceof CodedError) throw named.endpoint;
      const session = this.pool.get(named.endpoint);
      const { snapshot, declaresTools } = await this.#lister.list(list, {
        session,
        notified,
        onStarted: () => this.dispatch({ type: 'started', id, list }),
        read: (whole) => {
          const previous = this.#rounds.live?.snapshots.find((snapshot) => snapshot.id === id);
          return { snapshot: takeSnapshot({ endpoint: session.endpoint, list: whole, previous }), declaresTools: whole.declaresTools };
        },
      });
      if (this.#named.has(id)) this.views.listed(snapshot);
      this.dispatch({ type: 'listed', id, list, snapshot, declaresTools });
    } catch (error) {
      // A failed list is an event like any other: the rounds decide what follows from it.
      this.dispatch({ type: 'failed', id, list, error: asCoded(error, named.name) });
      this.views.listFailed(id);
    }
  }

  #receiveIndex(toolsets: readonly NamedToolset[]): void {
    const changed: string[] = [];
    for (const named of toolsets) {
      const before = this.#named.get(named.id)?.endpoint;
      this.#named.set(named.id, named);
      const { endpoint } = named;
      if (before === undefined || before instanceof CodedError || endpoint instanceof CodedError) continue;
      if (JSON.stringify(before.headers) !== JSON.stringify(endpoint.headers)) this.pool.renew(endpoint);
      if (before.credentialHeaders.join() !== endpoint.credentialHeaders.join()) {
        this.pool.renew(endpoint);
        changed.push(named.id);
      }
    }
    const { indexRead, toolsets: known } = this.#rounds;
    const wanted = [...known.values()].filter(({ standing }) => standing === 'wanted');
    const same = indexRead && wanted.length === toolsets.length && toolsets.every(({ id }) => known.get(id)?.standing === 'wanted');
    if (!same) this.dispatch({ type: 'index', toolsets: toolsets.map(({ id, name }) => ({ id, name })) });
    for (const id of changed) this.dispatch({ type: 'signal', id, trigger: 'index' });
  }

  #receiveStatus(id: string, { push }: SessionStatus): void {
    this.dispatch({ type: 'watching', id, watching: push === 'watching' });
    this.#noteState(id);
  }

  #reportMissed(id: string): void {
    const toolset = this.#rounds.toolsets.get(id);
    if (toolset === undefined) return;
    const { name, missedSignals } = toolset;
    this.#logger.warn('signal missed', { toolset: name, missedSignals });
    this.pool.reopenStream(id);
    this.#owner.signalMissed({ toolset: name, missedSignals });
  }

  #noteState(id: string): void {
    const toolset = this.#rounds.toolsets.get(id);
    if (toolset === undefined || this.#stopped) return;
    const from = this.#states.get(id) ?? null;
    const to = stateOf(toolset, this.pool.status(id));
    if (from === to) return;
    this.#states.set(id, to);
    const change = { toolset: toolset.name, from, to, error: toolset.failure?.error ?? null };
    logState(this.#logger, change);
    this.#owner.stateChanged(change);
  }

  /** After the machine slept, nothing that was held can be trusted to be current (CONTRACT.md 4.9). */
  #listEverything(): void {
    this.#logger.info('clock jumped', { consequence: 'every toolset is listed' });
    for (const id of this.#rounds.toolsets.keys()) this.dispatch({ type: 'signal', id, trigger: 'reconnect' });
  }
}
