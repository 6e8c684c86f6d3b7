import { hostname } from 'node:os';
import { EventEmitter } from 'eventemitter3';
import { CodedError } from '../core/errors.js';
import type { Generation, Lease } from '../core/generation.js';
import type { Clock, LiveAgents, Logger } from '../core/ports.js';
import { beginRounds, nextWakeAt, step } from '../core/round.js';
import type { ConcludedRound, RoundEffect, RoundEvent, Rounds } from '../core/round-state.js';
import type { Snapshot } from '../core/snapshot.js';
import { takeSnapshot } from '../core/snapshot.js';
import type { Readiness, RefreshStatus, RoundRecord, ToolsetState } from '../core/status.js';
import { openPool, type SessionPool } from '../mcp/session-pool.js';
import { systemClock } from '../system-clock.js';
import { buildCandidate, type Candidate } from './candidate.js';
import { History } from './history.js';
import { IndexReader, type NamedToolset } from './index-reader.js';
import { Lister } from './lister.js';
import { type RefresherEvents, type RefresherOptions, silentLogger } from './options.js';
import { describeRound, logRound } from './round-report.js';
import { GenerationSlot } from './slot.js';
import { Startup } from './startup.js';
import { asCoded, instants, reportToolset, shownError, stateOf } from './status-report.js';
import { watchForSuspend } from './suspend.js';

export interface RefreshRequest {
  /** The toolset to list, by its name in the index; every toolset without it. */
  readonly toolset?: string;
  readonly signal?: AbortSignal;
}

interface PendingRequest {
  readonly resolve: (record: RoundRecord) => void;
  readonly reject: (error: unknown) => void;
}

/** A manual request waits at most so long for the index to be read first. */
const INDEX_READ_WAIT_MS = 2_000;

/**
 * Keeps an agent current: holds a session to every toolset of the index, decides with the rounds of CONTRACT.md 3 when to list
 * and when to swap, and lends the live generation to runs. An eventemitter3 emitter of {@link RefresherEvents}.
 */
export class ToolsetRefresher<Agent> extends EventEmitter<RefresherEvents<Agent>> implements LiveAgents<Agent> {
  readonly #options: RefresherOptions<Agent>;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #everySeconds: number;
  readonly #pool: SessionPool;
  readonly #lister: Lister;
  readonly #index: IndexReader;
  readonly #slot: GenerationSlot<Agent>;
  readonly #history = new History();
  readonly #startup: Startup;
  readonly #named = new Map<string, NamedToolset>();
  readonly #states = new Map<string, ToolsetState>();
  readonly #requests = new Map<number, PendingRequest>();
  readonly #events: RoundEvent[] = [];
  #rounds: Rounds;
  #candidate: Candidate<Agent> | undefined;
  #lastRequest = 0;
  #dispatching = false;
  #cancelWake: () => void = () => undefined;
  #stopSuspendWatch: () => void = () => undefined;
  #life: 'new' | 'running' | 'stopped' = 'new';

  constructor(options: RefresherOptions<Agent>) {
    super();
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#logger = options.logger ?? silentLogger;
    this.#everySeconds = options.everySeconds ?? 1_800;
    const env = options.env ?? process.env;
    const pollMs = this.#everySeconds * 1_000;
    const timeoutMs = (options.listTimeoutSeconds ?? 10) * 1_000;
    this.#rounds = beginRounds({
      debounceMs: options.debounceMs ?? 100,
      pollMs,
      pollingMs: Math.min(pollMs, (options.pollingSeconds ?? 30) * 1_000),
    });
    this.#lister = new Lister({ timeoutMs, clock: this.#clock });
    this.#pool = openPool({
      clock: this.#clock,
      env,
      logger: this.#logger,
      heartbeatSeconds: options.heartbeatSeconds ?? 60,
      onSignal: (id, kind) => this.#dispatch({ type: 'signal', id, trigger: kind }),
      onStatus: (id, status) => {
        this.#dispatch({ type: 'watching', id, watching: status.push === 'watching' });
        this.#noteState(id);
      },
    });
    this.#index = new IndexReader({
      url: options.url,
      everyMs: (options.indexSeconds ?? (pollMs === 0 ? 0 : 60)) * 1_000,
      timeoutMs,
      env,
      clock: this.#clock,
      logger: this.#logger,
      onToolsets: (toolsets) => this.#receiveIndex(toolsets),
      onFailure: (error) => this.#dispatch({ type: 'index-failed', error }),
      hasAnswered: (id) => this.#rounds.toolsets.get(id)?.listedAt != null,
    });
    this.#slot = new GenerationSlot((generation) => this.#release(generation));
    this.#startup = new Startup({
      clock: this.#clock,
      startupSeconds: options.startupSeconds ?? 60,
      readySeconds: options.readySeconds ?? 15,
      required: options.required ?? [],
      toolsets: () => [...this.#rounds.toolsets.values()],
      built: () => this.#slot.current !== undefined,
      indexError: () => this.#index.error,
      lastError: () => this.#history.last?.error ?? null,
    });
  }

  /**
   * Connects to every toolset and resolves when the first generation is live and every required toolset has answered.
   * Rejects with a CodedError STARTUP_FAILED, one line per toolset, when that is not so after `startupSeconds`. Aborting the
   * signal stops the refresher, also later.
   */
  async start({ signal }: { readonly signal?: AbortSignal } = {}): Promise<void> {
    if (this.#life !== 'new') throw new Error('A ToolsetRefresher can be started once.');
    this.#life = 'running';
    const stop = (): void => void this.stop();
    signal?.addEventListener('abort', stop, { once: true });
    this.#stopSuspendWatch = watchForSuspend(this.#clock, () => this.#listEverything());
    this.#index.start();
    try {
      await this.#startup.begin();
    } catch (error) {
      signal?.removeEventListener('abort', stop);
      await this.stop();
      throw error;
    }
  }

  /** Ends every session and timer. Runs that are still going on lose their toolsets. Stopping twice is harmless. */
  async stop(): Promise<void> {
    if (this.#life === 'stopped') return;
    this.#life = 'stopped';
    this.#cancelWake();
    this.#stopSuspendWatch();
    this.#index.stop();
    this.#lister.cancelAll();
    this.#startup.abandon();
    for (const { reject } of this.#requests.values()) reject(stopped());
    this.#requests.clear();
    await this.#pool.closeAll();
  }

  get current(): Generation<Agent> | undefined {
    return this.#slot.current;
  }

  lease(): Lease<Agent> | undefined {
    return this.#slot.lease();
  }

  /** The last 50 rounds, oldest first. */
  get rounds(): readonly RoundRecord[] {
    return this.#history.rounds;
  }

  readiness(): Readiness {
    return { ready: this.#life === 'running' && this.#startup.ready, failing: this.#startup.failing() };
  }

  /** Waits for a round that opens after this call and returns its record, whatever its outcome (CONTRACT.md 3.14). */
  async refresh({ toolset, signal }: RefreshRequest = {}): Promise<RoundRecord> {
    signal?.throwIfAborted();
    if (this.#life !== 'running') throw stopped();
    await this.#readIndexFirst();
    const id = toolset === undefined ? undefined : this.#idOf(toolset);
    if (toolset !== undefined && id === undefined) throw new RangeError(`The index names no toolset ${JSON.stringify(toolset)}.`);
    if (this.#life !== 'running') throw stopped();
    const request = ++this.#lastRequest;
    return new Promise<RoundRecord>((resolve, reject) => {
      const abort = (): void => {
        if (this.#requests.delete(request)) reject(signal?.reason);
      };
      signal?.addEventListener('abort', abort, { once: true });
      const settle = () => signal?.removeEventListener('abort', abort);
      this.#requests.set(request, {
        resolve: (record) => {
          settle();
          resolve(record);
        },
        reject: (error) => {
          settle();
          reject(error);
        },
      });
      this.#dispatch({ type: 'request', request, id });
    });
  }

  status(): RefreshStatus {
    const now = this.#clock.now();
    const instant = instants({ now, date: this.#clock.date() });
    const { current } = this.#slot;
    const live = new Map(current?.catalog.snapshots.map((snapshot) => [snapshot.toolset, snapshot]));
    const wanted = [...this.#rounds.toolsets.values()].filter(({ standing }) => standing === 'wanted');
    const pollAt = Math.min(...wanted.map((toolset) => toolset.pollAt ?? Number.POSITIVE_INFINITY));
    return {
      instance: this.#options.instance ?? hostname(),
      generation: current?.number ?? 0,
      fingerprint: current?.fingerprint ?? null,
      builtAt: current?.builtAt.toISOString() ?? null,
      everySeconds: this.#everySeconds,
      nextPollAt: instant(pollAt),
      rounds: this.#history.counts,
      last: this.#history.last,
      draining: this.#slot.draining(),
      toolsets: wanted
        .map((toolset) => {
          const session = this.#pool.status(toolset.id);
          return reportToolset({ toolset, url: this.#urlOf(toolset.id), session, live: live.get(toolset.name), now, instant });
        })
        .sort((a, b) => (a.name < b.name ? -1 : 1)),
      index: {
        error: this.#index.error === null ? null : shownError(this.#index.error),
        readAt: this.#index.readAt?.toISOString() ?? null,
      },
    };
  }

  /** Events are taken one after another, also when an effect causes the next one. */
  #dispatch(event: RoundEvent): void {
    if (this.#life === 'stopped') return;
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
    this.#startup.check();
  }

  #armWake(): void {
    this.#cancelWake();
    if (this.#life === 'stopped') return;
    const now = this.#clock.now();
    const at = nextWakeAt(this.#rounds, now);
    if (!Number.isFinite(at)) return;
    this.#cancelWake = this.#clock.after(Math.max(0, at - now), () => this.#dispatch({ type: 'time' }));
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
        void this.#build(effect);
        return;
      case 'concluded':
        this.#conclude(effect.record);
        return;
      case 'missed':
        this.#reportMissed(effect.id);
        return;
      case 'dismissed':
        this.#named.delete(effect.id);
        this.#states.delete(effect.id);
        this.#pool.dismiss(effect.id);
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
      const session = this.#pool.get(named.endpoint);
      const { snapshot, declaresTools } = await this.#lister.list(list, {
        session,
        notified,
        onStarted: () => this.#dispatch({ type: 'started', id, list }),
        read: (whole) => {
          const snapshot = takeSnapshot({ endpoint: session.endpoint, list: whole, previous: this.#liveSnapshot(id) });
          return { snapshot, declaresTools: whole.declaresTools };
        },
      });
      this.#dispatch({ type: 'listed', id, list, snapshot, declaresTools });
    } catch (error) {
      // A failed list is an event like any other: the rounds decide what follows from it.
      this.#dispatch({ type: 'failed', id, list, error: asCoded(error, named.name) });
    }
  }

  async #build({ base, changes }: Extract<RoundEffect, { type: 'build' }>): Promise<void> {
    const candidate = await buildCandidate((catalog) => this.#options.build(catalog, this.#pool), base, changes);
    this.#candidate = candidate;
    const { accepted, rejected, error, built } = candidate;
    this.#dispatch({ type: 'built', accepted, rejected, error, catalog: built?.catalog ?? null });
  }

  #conclude(concluded: ConcludedRound): void {
    const previous = this.#slot.current;
    if (concluded.outcome === 'swapped') this.#install(previous);
    const { current } = this.#slot;
    const now = this.#clock.now();
    const record = describeRound(concluded, { now, at: this.#clock.date(), generation: current?.number ?? 0 });
    this.#history.add(record);
    logRound(this.#logger, record, concluded, previous);
    for (const request of concluded.requests) {
      this.#requests.get(request)?.resolve(record);
      this.#requests.delete(request);
    }
    if (concluded.outcome !== 'swapped') this.#tell(concluded.outcome, record);
    else if (current !== undefined) this.#tell('swapped', { generation: current, previous, round: record });
  }

  #install(previous: Generation<Agent> | undefined): void {
    const built = this.#candidate?.built;
    this.#candidate = undefined;
    if (built === undefined) return;
    const { agent, catalog } = built;
    for (const { id } of catalog.snapshots) this.#pool.acquire(id);
    const builtAt = this.#clock.date();
    const generation = { number: (previous?.number ?? 0) + 1, agent, catalog, fingerprint: catalog.fingerprint, builtAt };
    this.#slot.swap(generation, builtAt);
  }

  #release(generation: Generation<Agent>): void {
    for (const { id } of generation.catalog.snapshots) this.#pool.release(id);
    this.#logger.debug('generation released', { generation: generation.number });
    this.#tell('released', generation);
  }

  #receiveIndex(toolsets: readonly NamedToolset[]): void {
    const changed: string[] = [];
    for (const named of toolsets) {
      const before = this.#named.get(named.id)?.endpoint;
      this.#named.set(named.id, named);
      const { endpoint } = named;
      if (before === undefined || before instanceof CodedError || endpoint instanceof CodedError) continue;
      if (JSON.stringify(before.headers) !== JSON.stringify(endpoint.headers)) this.#pool.renew(endpoint);
      if (before.credentialHeaders.join() !== endpoint.credentialHeaders.join()) {
        this.#pool.renew(endpoint);
        changed.push(named.id);
      }
    }
    const { indexRead, toolsets: known } = this.#rounds;
    const wanted = [...known.values()].filter(({ standing }) => standing === 'wanted');
    const same = indexRead && wanted.length === toolsets.length && toolsets.every(({ id }) => known.get(id)?.standing === 'wanted');
    if (!same) this.#dispatch({ type: 'index', toolsets: toolsets.map(({ id, name }) => ({ id, name })) });
    for (const id of changed) this.#dispatch({ type: 'signal', id, trigger: 'index' });
  }

  #reportMissed(id: string): void {
    const toolset = this.#rounds.toolsets.get(id);
    if (toolset === undefined) return;
    const { name, missedSignals } = toolset;
    this.#logger.warn('signal missed', { toolset: name, missedSignals });
    this.#pool.reopenStream(id);
    this.#tell('missed', { toolset: name, missedSignals });
  }

  #noteState(id: string): void {
    const toolset = this.#rounds.toolsets.get(id);
    if (toolset === undefined || this.#life === 'stopped') return;
    const from = this.#states.get(id) ?? null;
    const to = stateOf(toolset, this.#pool.status(id));
    if (from === to) return;
    this.#states.set(id, to);
    const error = toolset.failure?.error ?? null;
    const fields = { toolset: toolset.name, from, to, ...(error === null ? {} : { code: error.code, error: error.message }) };
    if (to === 'failing') this.#logger.warn('toolset failing', fields);
    else this.#logger.info(`toolset ${to}`, fields);
    this.#tell('toolset', { toolset: toolset.name, from, to, error });
  }

  /** After the machine slept, nothing that was held can be trusted to be current (CONTRACT.md 4.9). */
  #listEverything(): void {
    this.#logger.info('clock jumped', { consequence: 'every toolset is listed' });
    for (const id of this.#rounds.toolsets.keys()) this.#dispatch({ type: 'signal', id, trigger: 'reconnect' });
  }

  async #readIndexFirst(): Promise<void> {
    await new Promise<void>((resolve) => {
      const cancel = this.#clock.after(INDEX_READ_WAIT_MS, resolve);
      void this.#index.readNow().then(() => {
        cancel();
        resolve();
      });
    });
  }

  #idOf(name: string): string | undefined {
    return [...this.#rounds.toolsets.values()].find((toolset) => toolset.name === name && toolset.standing === 'wanted')?.id;
  }

  #urlOf(id: string): string {
    const endpoint = this.#named.get(id)?.endpoint;
    return endpoint === undefined || endpoint instanceof CodedError ? '' : endpoint.url;
  }

  #liveSnapshot(id: string): Snapshot | undefined {
    return this.#rounds.live?.snapshots.find((snapshot) => snapshot.id === id);
  }

  #tell<Name extends keyof RefresherEvents<Agent>>(name: Name, event: Parameters<RefresherEvents<Agent>[Name]>[0]): void {
    try {
      (this.emit as (name: string, event: unknown) => boolean).call(this, name, event);
    } catch (error) {
      // A listener's failure is its own: the rounds go on.
      this.#logger.error('listener failed', { event: String(name), error: error instanceof Error ? error.message : String(error) });
    }
  }
}

function stopped(): CodedError {
  return new CodedError('SESSION_CLOSED', 'The refresher is stopped.');
}
