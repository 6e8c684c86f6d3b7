import { CodedError } from '../core/errors.js';
import type { Clock, Logger, SessionStatus } from '../core/ports.js';
import { heldClasses, isUnderReview } from '../core/review.js';
import { beginRounds, nextWakeAt, step } from '../core/round.js';
import type { RoundEffect, RoundEvent, Rounds, Toolset } from '../core/round-state.js';
import type { Snapshot } from '../core/snapshot.js';
import type { ToolsetState } from '../core/status.js';
import { openPool, type SessionPool } from '../mcp/session-pool.js';
import { IndexReader, type NamedToolset, renewalOf } from './index-reader.js';
import { Lister } from './lister.js';
import { asCoded, isListing, logState, stateOf } from './status-report.js';
import { watchForSuspend } from './suspend.js';
import { listToolset } from './toolset-list.js';
import { ViewWatch } from './view-watch.js';
import type { WatcherOptions, WatcherOwner } from './watcher-owner.js';

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
  /** Lists aside from the rounds count downwards, so that no round takes one for its own. */
  #lastAside = 0;
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
    this.#rounds = beginRounds({ debounceMs, pollMs, pollingMs, review: settings.review });
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
      onChanged: (read) => owner.indexChanged(read),
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

  get rounds(): Rounds {
    return this.#rounds;
  }

  /** The toolset's complete list now, aside from the rounds: nothing follows from it. Rejects with a CodedError. */
  async listAside({ id, name }: Toolset): Promise<Snapshot> {
    const named = this.#named.get(id);
    if (named === undefined) throw new CodedError('SESSION_CLOSED', 'The toolset has left the index.');
    await this.#owner.prepare(name);
    this.#lastAside -= 1;
    return (await this.#ask(named, { list: this.#lastAside, notified: false, onStarted: () => undefined })).snapshot;
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
      case 'held':
        this.#reportHeld(effect);
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
      if (isUnderReview(this.#rounds.settings.review, named.name)) await this.#owner.prepare(named.name);
      const onStarted = () => this.dispatch({ type: 'started', id, list });
      const { snapshot, declaresTools } = await this.#ask(named, { list, notified, onStarted });
      if (this.#named.has(id)) this.views.listed(snapshot);
      this.dispatch({ type: 'listed', id, list, snapshot, declaresTools });
    } catch (error) {
      // A failed list is an event like any other: the rounds decide what follows from it.
      this.dispatch({ type: 'failed', id, list, error: asCoded(error, named.name) });
      this.views.listFailed(id);
    }
  }

  #ask(named: NamedToolset, ask: { readonly list: number; readonly notified: boolean; readonly onStarted: () => void }) {
    return listToolset({ named, pool: this.pool, lister: this.#lister, live: () => this.#rounds.live, ...ask });
  }

  #receiveIndex(toolsets: readonly NamedToolset[]): void {
    const changed: string[] = [];
    for (const named of toolsets) {
      const renewal = renewalOf(this.#named.get(named.id), named);
      this.#named.set(named.id, named);
      if (renewal === undefined) continue;
      this.pool.renew(renewal.endpoint);
      if (renewal.list) changed.push(named.id);
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

  #reportHeld({ id, reason, fingerprint }: Extract<RoundEffect, { type: 'held' }>): void {
    const toolset = this.#rounds.toolsets.get(id);
    if (toolset === undefined) return;
    this.#owner.held({ toolset: toolset.name, fingerprint, reason, classes: heldClasses(this.#rounds, toolset) });
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
    logState(this.#logger, { ...change, url: this.urlOf(id) });
    this.#owner.stateChanged(change);
  }

  /** After the machine slept, nothing that was held can be trusted to be current (CONTRACT.md 4.9). */
  #listEverything(): void {
    this.#logger.info('clock jumped', { consequence: 'every toolset is listed' });
    for (const id of this.#rounds.toolsets.keys()) this.dispatch({ type: 'signal', id, trigger: 'reconnect' });
  }
}
