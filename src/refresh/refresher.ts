import { hostname } from 'node:os';
import { EventEmitter } from 'eventemitter3';
import type { Generation, Lease } from '../core/generation.js';
import { recordGeneration } from '../core/generation-record.js';
import type { Clock, LiveAgents, Logger, ViewSource } from '../core/ports.js';
import type { ConcludedRound, RoundEffect } from '../core/round-state.js';
import type { Readiness, RefreshStatus, RoundRecord } from '../core/status.js';
import { systemClock } from '../system-clock.js';
import { buildCandidate, type Candidate } from './candidate.js';
import { GenerationLog } from './generation-log.js';
import { History } from './history.js';
import { type RefresherEvents, type RefresherOptions, silentLogger } from './options.js';
import { PendingRequests, stopped } from './pending-requests.js';
import { ReplicaHints } from './replica-hints.js';
import { describeRound, logRound } from './round-report.js';
import { GenerationSlot } from './slot.js';
import { Startup } from './startup.js';
import { reportRefresh } from './status-report.js';
import { Watcher } from './watcher.js';

export interface RefreshRequest {
  /** The toolset to list, by its name in the index; every toolset without it. */
  readonly toolset?: string;
  readonly signal?: AbortSignal;
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
  readonly #instance: string;
  readonly #watcher: Watcher;
  readonly #slot: GenerationSlot<Agent>;
  readonly #history = new History();
  readonly #startup: Startup;
  readonly #requests = new PendingRequests();
  readonly #log: GenerationLog;
  readonly #hints: ReplicaHints | undefined;
  #candidate: (Candidate<Agent> & { readonly number: number }) | undefined;
  #life: 'new' | 'running' | 'stopped' = 'new';

  constructor(options: RefresherOptions<Agent>) {
    super();
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#logger = options.logger ?? silentLogger;
    this.#everySeconds = options.everySeconds ?? 1_800;
    this.#instance = options.instance ?? hostname();
    this.#slot = new GenerationSlot((generation) => this.#release(generation));
    this.#log = new GenerationLog({ facts: options.facts, clock: this.#clock, logger: this.#logger });
    this.#hints =
      options.link &&
      new ReplicaHints({
        ...{ link: options.link, clock: this.#clock, logger: this.#logger },
        names: () => this.#watcher.toolsets.map(({ name }) => name),
        live: () => this.#slot.current?.catalog,
        makeDue: (name) => this.#makeDue(name, 'replica'),
      });
    this.#watcher = new Watcher({
      settings: options,
      ...{ pollMs: this.#everySeconds * 1_000, clock: this.#clock, logger: this.#logger },
      owner: {
        build: (effect) => void this.#build(effect),
        concluded: (record) => this.#conclude(record),
        stateChanged: (change) => this.#tell('toolset', change),
        listEnded: (list) => this.#tell('listed', list),
        viewChanged: (change) => this.#tell('view', change),
        signalMissed: (missed) => this.#tell('missed', missed),
        stepped: () => this.#startup.check(),
      },
    });
    this.#startup = new Startup({
      clock: this.#clock,
      startupSeconds: options.startupSeconds ?? 60,
      readySeconds: options.readySeconds ?? 15,
      required: options.required ?? [],
      toolsets: () => this.#watcher.toolsets,
      built: () => this.#slot.current !== undefined,
      indexError: () => this.#watcher.index.error,
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
    this.#watcher.start();
    this.#hints?.start();
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
    this.#startup.abandon();
    this.#requests.rejectAll(stopped());
    this.#hints?.stop();
    await this.#watcher.stop();
    await this.#log.stop();
  }

  get current(): Generation<Agent> | undefined {
    return this.#slot.current;
  }

  lease(): Lease<Agent> | undefined {
    return this.#slot.lease();
  }

  get views(): ViewSource {
    return this.#watcher.views.cache;
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
    return this.#requests.wait((request) => this.#watcher.dispatch({ type: 'request', request, id }), signal);
  }

  status(): RefreshStatus {
    const { current } = this.#slot;
    const { pool, toolsets, index } = this.#watcher;
    return {
      instance: this.#instance,
      everySeconds: this.#everySeconds,
      rounds: this.#history.counts,
      last: this.#history.last,
      draining: this.#slot.draining(),
      replicas: this.#options.link?.replicas() ?? [],
      replicasDifferSince: this.#options.link?.differSince ?? null,
      ...reportRefresh({
        now: this.#clock.now(),
        date: this.#clock.date(),
        current,
        toolsets,
        urlOf: (id) => this.#watcher.urlOf(id),
        sessionOf: (id) => pool.status(id),
        index,
      }),
    };
  }

  async #build({ base, changes }: Extract<RoundEffect, { type: 'build' }>): Promise<void> {
    const candidate = await buildCandidate((catalog) => this.#options.build(catalog, this.#watcher.pool), base, changes);
    const number = candidate.built === undefined ? 0 : await this.#log.next();
    this.#candidate = { ...candidate, number };
    const { accepted, rejected, error, built } = candidate;
    this.#watcher.dispatch({ type: 'built', accepted, rejected, error, catalog: built?.catalog ?? null });
  }

  #conclude(concluded: ConcludedRound): void {
    const previous = this.#slot.current;
    if (concluded.outcome === 'swapped') this.#install();
    const { current } = this.#slot;
    const now = this.#clock.now();
    const record = describeRound(concluded, { now, at: this.#clock.date(), generation: current?.number ?? 0 });
    this.#history.add(record);
    logRound(this.#logger, record, concluded, previous);
    this.#requests.answer(concluded.requests, record);
    if (concluded.outcome !== 'swapped') this.#tell(concluded.outcome, record);
    else if (current !== undefined) {
      this.#tell('swapped', { generation: current, previous, round: record });
      this.#hints?.swapped(current, concluded.unheard);
      this.#log.add(() => recordGeneration({ generation: current, before: concluded.before, round: record, instance: this.#instance }));
    }
  }

  #install(): void {
    const candidate = this.#candidate;
    this.#candidate = undefined;
    if (candidate?.built === undefined) return;
    const { number } = candidate;
    const { agent, catalog } = candidate.built;
    for (const { id } of catalog.snapshots) this.#watcher.pool.acquire(id);
    const builtAt = this.#clock.date();
    const generation = { number, agent, catalog, fingerprint: catalog.fingerprint, builtAt };
    this.#slot.swap(generation, builtAt);
  }

  #release(generation: Generation<Agent>): void {
    for (const { id } of generation.catalog.snapshots) this.#watcher.pool.release(id);
    this.#logger.debug('generation released', { generation: generation.number });
    this.#tell('released', generation);
  }

  async #readIndexFirst(): Promise<void> {
    await new Promise<void>((resolve) => {
      const cancel = this.#clock.after(INDEX_READ_WAIT_MS, resolve);
      void this.#watcher.index.readNow().then(() => {
        cancel();
        resolve();
      });
    });
  }

  #makeDue(name: string, trigger: 'replica'): void {
    const id = this.#idOf(name);
    if (id !== undefined) this.#watcher.dispatch({ type: 'signal', id, trigger });
  }

  #idOf(name: string): string | undefined {
    return this.#watcher.toolsets.find((toolset) => toolset.name === name && toolset.standing === 'wanted')?.id;
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
