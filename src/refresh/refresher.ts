import { hostname } from 'node:os';
import { EventEmitter } from 'eventemitter3';
import type { HeldReport, Preview } from '../core/change-report.js';
import type { Generation, Lease } from '../core/generation.js';
import { recordGeneration } from '../core/generation-record.js';
import type { Clock, DecisionAnswer, GenerationHistory, LiveAgents, Logger, ViewSource } from '../core/ports.js';
import type { ConcludedRound, Toolset } from '../core/round-state.js';
import { silentLogger } from '../core/silent-logger.js';
import type { Readiness, RefreshStatus, RoundRecord } from '../core/status.js';
import { systemClock } from '../system-clock.js';
import { GenerationLog } from './generation-log.js';
import { Generations } from './generations.js';
import { History } from './history.js';
import type { HeldChange, RefresherEvents, RefresherOptions, RefreshRequest } from './options.js';
import { PendingRequests, stopped } from './pending-requests.js';
import { preview } from './preview.js';
import { refreshStatus } from './refresh-status.js';
import { ReplicaHints } from './replica-hints.js';
import { openReviewDesk, type ReviewDesk } from './review-desk.js';
import { describeRound, logRound } from './round-report.js';
import { Startup } from './startup.js';
import { reportHeldLists } from './status-report.js';
import { Watcher } from './watcher.js';

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
  readonly #generations: Generations<Agent>;
  readonly #history = new History();
  readonly #startup: Startup;
  readonly #requests = new PendingRequests();
  readonly #log: GenerationLog;
  readonly #hints: ReplicaHints | undefined;
  readonly #desk: ReviewDesk | undefined;
  #life: 'new' | 'running' | 'stopped' = 'new';

  constructor(options: RefresherOptions<Agent>) {
    super();
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#logger = options.logger ?? silentLogger;
    this.#everySeconds = options.everySeconds ?? 1_800;
    this.#instance = options.instance ?? hostname();
    this.#log = new GenerationLog({ facts: options.facts, clock: this.#clock, logger: this.#logger });
    this.#generations = new Generations({
      build: (catalog) => options.build(catalog, this.#watcher.pool),
      clock: this.#clock,
      next: () => this.#log.next(),
      onBuilt: (event) => this.#watcher.dispatch(event),
      acquire: ({ snapshots }) => snapshots.forEach(({ id }) => void this.#watcher.pool.acquire(id)),
      onReleased: (generation) => this.#release(generation),
    });
    this.#hints =
      options.link &&
      new ReplicaHints({
        ...{ link: options.link, clock: this.#clock, logger: this.#logger },
        names: () => this.#watcher.toolsets.map(({ name }) => name),
        live: () => this.#generations.slot.current?.catalog,
        makeDue: (name) => void this.#hinted(name),
      });
    this.#desk = openReviewDesk(options, {
      ...{ clock: this.#clock, logger: this.#logger },
      toolsets: () => this.#watcher.toolsets,
      dispatch: (event) => this.#watcher.dispatch(event),
      onDecided: (made) => this.#tell('decided', made),
      roundOf: (ask) => this.#requests.wait(ask, undefined),
      hint: (hint) => options.link?.hint(hint),
    });
    this.#watcher = new Watcher({
      settings: options,
      ...{ pollMs: this.#everySeconds * 1_000, clock: this.#clock, logger: this.#logger },
      owner: {
        build: (effect) => void this.#generations.make(effect),
        concluded: (record) => this.#conclude(record),
        prepare: async (name) => this.#desk?.prepare(name),
        stateChanged: (change) => this.#tell('toolset', change),
        held: (change) => this.#noteHeld(change),
        indexChanged: (read) => this.#tell('index', read),
        listEnded: (list) => this.#tell('listed', list),
        viewChanged: (change) => this.#tell('view', change),
        signalMissed: (missed) => this.#tell('missed', missed),
        stepped: () => this.#startup.check(),
      },
    });
    this.#startup = new Startup({
      ...{ clock: this.#clock, startupSeconds: options.startupSeconds ?? 60, readySeconds: options.readySeconds ?? 15 },
      required: options.required ?? [],
      toolsets: () => this.#watcher.toolsets,
      built: () => this.#generations.slot.current !== undefined,
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
    this.#desk?.start();
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
    await this.#desk?.stop();
    await this.#watcher.stop();
    await this.#log.stop();
  }

  get current(): Generation<Agent> | undefined {
    return this.#generations.slot.current;
  }

  lease(): Lease<Agent> | undefined {
    return this.#generations.slot.lease();
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
    const id = toolset === undefined ? undefined : (await this.#named(toolset))[0]?.id;
    if (toolset === undefined) await this.#named();
    return this.#requests.wait((request) => this.#watcher.dispatch({ type: 'request', request, id }), signal);
  }

  /** Lists every toolset, or the one that is named, aside from the rounds and says what a refresh would do. */
  async preview({ toolset }: { readonly toolset?: string } = {}): Promise<Preview> {
    return preview({ toolsets: await this.#named(toolset), watcher: this.#watcher, generations: this.#generations });
  }

  /** Undefined where nothing is remembered. */
  get history(): GenerationHistory | undefined {
    return this.#options.facts && this.#log;
  }

  held(fingerprint: string): readonly HeldReport[] {
    return reportHeldLists(this.#watcher.rounds, fingerprint, this.#clock);
  }

  async decide(fingerprint: string, decision: 'approved' | 'rejected'): Promise<DecisionAnswer> {
    if (this.#life !== 'running') throw stopped();
    return this.#desk === undefined ? { kind: 'unknown' } : this.#desk.decide(fingerprint, decision);
  }

  status(): RefreshStatus {
    const { slot } = this.#generations;
    const parts = { watcher: this.#watcher, slot, history: this.#history, link: this.#options.link, clock: this.#clock };
    return { instance: this.#instance, everySeconds: this.#everySeconds, ...refreshStatus(parts) };
  }

  #conclude(concluded: ConcludedRound): void {
    const previous = this.#generations.slot.current;
    if (concluded.outcome === 'swapped') this.#generations.install();
    const { current } = this.#generations.slot;
    const now = this.#clock.now();
    const record = describeRound(concluded, { now, at: this.#clock.date(), generation: current?.number ?? 0 });
    this.#history.add(record);
    logRound(this.#logger, record, concluded, previous);
    this.#requests.answer(concluded.requests, record);
    if (concluded.outcome !== 'swapped') this.#tell(concluded.outcome, record);
    else if (current !== undefined) {
      this.#tell('swapped', { generation: current, previous, round: record });
      this.#desk?.served(current.catalog);
      this.#hints?.swapped(current, concluded.unheard);
      this.#log.add(() => recordGeneration({ generation: current, before: concluded.before, round: record, instance: this.#instance }));
    }
  }

  #noteHeld(change: HeldChange): void {
    this.#logger.info('change held', { ...change });
    if (change.reason === 'review') this.#desk?.held(change.fingerprint);
    this.#tell('waiting', change);
  }

  #release(generation: Generation<Agent>): void {
    for (const { id } of generation.catalog.snapshots) this.#watcher.pool.release(id);
    this.#logger.debug('generation released', { generation: generation.number });
    this.#tell('released', generation);
  }

  async #hinted(name: string): Promise<void> {
    // What the hint is about may have been decided there.
    await this.#desk?.sync();
    const id = this.#watcher.toolsets.find((toolset) => toolset.name === name && toolset.standing === 'wanted')?.id;
    if (id !== undefined) this.#watcher.dispatch({ type: 'signal', id, trigger: 'replica' });
  }

  /** The toolsets of the index, which is read before; the one that is named, where one is. */
  async #named(name?: string): Promise<readonly Toolset[]> {
    await this.#watcher.index.readSoon(INDEX_READ_WAIT_MS);
    if (this.#life !== 'running') throw stopped();
    const wanted = this.#watcher.toolsets.filter(({ standing }) => standing === 'wanted');
    const named = name === undefined ? wanted : wanted.filter((toolset) => toolset.name === name);
    if (name !== undefined && named.length === 0) throw new RangeError(`The index names no toolset ${JSON.stringify(name)}.`);
    return named;
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
