import { hostname } from 'node:os';
import { EventEmitter } from 'eventemitter3';
import { CodedError } from '../core/errors.js';
import type { Generation, Lease } from '../core/generation.js';
import type { Clock, LiveAgents, Logger } from '../core/ports.js';
import type { ConcludedRound, RoundEffect } from '../core/round-state.js';
import type { Readiness, RefreshStatus, RoundRecord } from '../core/status.js';
import { systemClock } from '../system-clock.js';
import { buildCandidate, type Candidate } from './candidate.js';
import { History } from './history.js';
import { type RefresherEvents, type RefresherOptions, silentLogger } from './options.js';
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
  readonly #watcher: Watcher;
  readonly #slot: GenerationSlot<Agent>;
  readonly #history = new History();
  readonly #startup: Startup;
  readonly #requests = new Map<number, PendingRequest>();
  #candidate: Candidate<Agent> | undefined;
  #lastRequest = 0;
  #life: 'new' | 'running' | 'stopped' = 'new';

  constructor(options: RefresherOptions<Agent>) {
    super();
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#logger = options.logger ?? silentLogger;
    this.#everySeconds = options.everySeconds ?? 1_800;
    this.#slot = new GenerationSlot((generation) => this.#release(generation));
    this.#watcher = new Watcher({
      settings: options,
      pollMs: this.#everySeconds * 1_000,
      clock: this.#clock,
      logger: this.#logger,
      owner: {
        build: (effect) => void this.#build(effect),
        concluded: (record) => this.#conclude(record),
        stateChanged: (change) => this.#tell('toolset', change),
        listEnded: (list) => this.#tell('listed', list),
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
    for (const { reject } of this.#requests.values()) reject(stopped());
    this.#requests.clear();
    await this.#watcher.stop();
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
      this.#watcher.dispatch({ type: 'request', request, id });
    });
  }

  status(): RefreshStatus {
    const { current } = this.#slot;
    const { pool, toolsets, index } = this.#watcher;
    return {
      instance: this.#options.instance ?? hostname(),
      everySeconds: this.#everySeconds,
      rounds: this.#history.counts,
      last: this.#history.last,
      draining: this.#slot.draining(),
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
    this.#candidate = candidate;
    const { accepted, rejected, error, built } = candidate;
    this.#watcher.dispatch({ type: 'built', accepted, rejected, error, catalog: built?.catalog ?? null });
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
    for (const { id } of catalog.snapshots) this.#watcher.pool.acquire(id);
    const builtAt = this.#clock.date();
    const generation = { number: (previous?.number ?? 0) + 1, agent, catalog, fingerprint: catalog.fingerprint, builtAt };
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

function stopped(): CodedError {
  return new CodedError('SESSION_CLOSED', 'The refresher is stopped.');
}
