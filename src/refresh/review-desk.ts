import type { Catalog } from '../core/catalog.js';
import { CodedError } from '../core/errors.js';
import type { Decision, Facts } from '../core/facts.js';
import type { Clock, DecisionAnswer, Logger } from '../core/ports.js';
import type { DecisionMade } from '../core/refresher-events.js';
import { isUnderReview, type ReviewPolicy } from '../core/review.js';
import type { RoundEvent, Toolset } from '../core/round-state.js';
import type { Snapshot } from '../core/snapshot.js';
import type { RoundRecord } from '../core/status.js';
import { definitionsOf, snapshotOfDefinitions } from '../core/stored-definitions.js';
import type { RefresherOptions } from './options.js';

export interface ReviewDeskOptions {
  readonly policy: ReviewPolicy;
  readonly facts: Facts;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly toolsets: () => readonly Toolset[];
  readonly dispatch: (event: RoundEvent) => void;
  readonly onDecided: (decision: DecisionMade) => void;
  /** Hands a request's number to `ask` and waits for the round that answers it. */
  readonly roundOf: (ask: (request: number) => void) => Promise<RoundRecord>;
  /** Tells other replicas that a toolset is worth a look. */
  readonly hint: (hint: { readonly toolset: string; readonly fingerprint: string }) => void;
}

/** How often the store is asked for what other replicas decided; hints usually bring it sooner. */
const SYNC_MS = 30_000;
/** So many of the newest decisions are read each time. */
const NEWEST = 50;
const ALL_DECISIONS = 1_000;
/** Larger definitions are not kept with their decision, so that reading decisions stays cheap. */
const DEFINITIONS_LIMIT = 256 * 1024;
/** So many fingerprints that were held are remembered, to tell a decision that comes too late from one about nothing. */
const SEEN_LIMIT = 1_000;

/** Keeps what was decided about toolsets under review in the store, and brings it to the rounds (CONTRACT.md 15). */
export class ReviewDesk {
  readonly #options: ReviewDeskOptions;
  readonly #prepared = new Map<string, Promise<void>>();
  /** The newest decision about each toolset's fingerprint. */
  readonly #known = new Map<string, Decision['verdict']>();
  /** The fingerprint of each toolset's definitions in the store. */
  readonly #saved = new Map<string, string>();
  readonly #seen = new Set<string>();
  #catalog: Catalog | undefined;
  #saving: Promise<void> = Promise.resolve();
  #stopped = false;
  #cancelSync: () => void = () => undefined;

  constructor(options: ReviewDeskOptions) {
    this.#options = options;
  }

  start(): void {
    this.#cancelSync = this.#options.clock.after(SYNC_MS, () => {
      this.start();
      this.#save();
      void this.sync();
    });
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancelSync();
    await this.#saving;
  }

  /** Resolves when the rounds know what the store knows of this toolset; has to come before its first list. Rejects with a CodedError. */
  async prepare(name: string): Promise<void> {
    if (!isUnderReview(this.#options.policy, name)) return;
    const prepared = this.#prepared.get(name) ?? this.#load(name);
    this.#prepared.set(name, prepared);
    try {
      await prepared;
    } catch (cause) {
      this.#prepared.delete(name);
      throw new CodedError('REVIEW_UNKNOWN', 'The store does not say what was approved of this toolset.', { toolset: name, cause });
    }
  }

  /** A change began to wait for a decision. */
  held(fingerprint: string): void {
    this.#seen.add(fingerprint);
    for (const oldest of this.#seen) {
      if (this.#seen.size <= SEEN_LIMIT) return;
      this.#seen.delete(oldest);
    }
  }

  /** Decides about the changes of this fingerprint that wait for it. The decision is in the store before anything follows from it. Rejects with a StoreFailure. */
  async decide(fingerprint: string, decision: Decision['verdict']): Promise<DecisionAnswer> {
    const { toolsets, dispatch, roundOf, hint } = this.#options;
    // Another replica may have decided already.
    await this.sync();
    const snapshots = toolsets().flatMap(({ waiting }) =>
      waiting?.reason === 'review' && waiting.snapshot.fingerprint === fingerprint ? [waiting.snapshot] : [],
    );
    if (snapshots.length === 0) return this.#wasHeld(fingerprint) ? { kind: 'superseded' } : { kind: 'unknown' };
    for (const snapshot of snapshots) await this.#record(snapshot, decision);
    const round = await roundOf((request) => {
      for (const [index, { toolset }] of snapshots.entries()) {
        const last = index === snapshots.length - 1;
        dispatch({ type: 'decided', toolset, fingerprint, decision, trigger: 'review', request: last ? request : null });
      }
    });
    // What was approved is hinted at by the swap.
    if (decision === 'rejected') for (const { toolset } of snapshots) hint({ toolset, fingerprint });
    return { kind: 'decided', round };
  }

  /** Whether a change of this fingerprint was held or decided before. */
  #wasHeld(fingerprint: string): boolean {
    return this.#seen.has(fingerprint) || [...this.#known.keys()].some((key) => key.endsWith(` ${fingerprint}`));
  }

  async #record(snapshot: Snapshot, verdict: Decision['verdict']): Promise<void> {
    const { toolset, fingerprint } = snapshot;
    const definitions = definitionsOf(snapshot);
    const fits = JSON.stringify(definitions).length <= DEFINITIONS_LIMIT;
    const at = this.#options.clock.date().toISOString();
    await this.#options.facts.saveDecision({ toolset, fingerprint, verdict, at, definitions: fits ? definitions : {} });
    this.#known.set(keyOf({ toolset, fingerprint }), verdict);
    this.#tell({ toolset, fingerprint, decision: verdict });
  }

  /** Reads what other replicas decided. Never rejects. */
  async sync(): Promise<void> {
    try {
      this.#apply(await this.#options.facts.decisions({ limit: NEWEST }));
    } catch {
      // The store cannot be reached now; what it holds is read the next time. Until then changes stay held.
    }
  }

  /** Another catalog is live: its definitions of toolsets under review are those that a start begins with. */
  served(catalog: Catalog): void {
    this.#catalog = catalog;
    this.#save();
  }

  #save(): void {
    this.#saving = this.#saving.then(async () => {
      const { facts, policy, clock, logger } = this.#options;
      for (const snapshot of this.#catalog?.snapshots ?? []) {
        const { toolset, fingerprint } = snapshot;
        if (this.#stopped || !isUnderReview(policy, toolset) || this.#saved.get(toolset) === fingerprint) continue;
        try {
          await facts.saveDefinitions({ toolset, fingerprint, at: clock.date().toISOString(), definitions: definitionsOf(snapshot) });
          this.#saved.set(toolset, fingerprint);
        } catch (error) {
          // They are written with the next look at the store.
          logger.warn('approved definitions not recorded yet', { toolset, error: error instanceof Error ? error.message : String(error) });
        }
      }
    });
  }

  async #load(name: string): Promise<void> {
    const { facts, dispatch } = this.#options;
    const [decisions, definitions] = await Promise.all([facts.decisions({ toolset: name, limit: ALL_DECISIONS }), facts.definitions(name)]);
    for (const { toolset, fingerprint, verdict } of [...decisions].reverse()) {
      this.#known.set(keyOf({ toolset, fingerprint }), verdict);
      dispatch({ type: 'decided', toolset, fingerprint, decision: verdict, trigger: 'replica', request: null });
    }
    const snapshot = definitions && snapshotOfDefinitions(definitions);
    if (snapshot === undefined) return;
    this.#saved.set(name, snapshot.fingerprint);
    dispatch({ type: 'approved', snapshot });
  }

  /** Decisions come newest first; of several about one fingerprint the newest counts. */
  #apply(decisions: readonly Decision[]): void {
    const newest = new Map<string, Decision>();
    for (const decision of decisions) if (!newest.has(keyOf(decision))) newest.set(keyOf(decision), decision);
    for (const [key, { toolset, fingerprint, verdict }] of newest) {
      if (this.#stopped || this.#known.get(key) === verdict || !this.#prepared.has(toolset)) continue;
      this.#known.set(key, verdict);
      this.#tell({ toolset, fingerprint, decision: verdict });
      this.#options.dispatch({ type: 'decided', toolset, fingerprint, decision: verdict, trigger: 'replica', request: null });
    }
  }

  #tell(made: DecisionMade): void {
    const { toolset, fingerprint, decision } = made;
    if (decision === 'approved') this.#options.logger.info('change approved', { toolset, fingerprint });
    else this.#options.logger.info('change rejected', { toolset, fingerprint });
    this.#options.onDecided(made);
  }
}

function keyOf({ toolset, fingerprint }: Pick<Decision, 'toolset' | 'fingerprint'>): string {
  return `${toolset} ${fingerprint}`;
}

/** Undefined where no toolset is under review. Throws a RangeError where decisions could not be kept. */
export function openReviewDesk(
  { review, facts }: Pick<RefresherOptions<unknown>, 'review' | 'facts'>,
  options: Omit<ReviewDeskOptions, 'policy' | 'facts'>,
): ReviewDesk | undefined {
  if (review === undefined) return undefined;
  if (facts === undefined) throw new RangeError('Review needs `facts`: approvals have to outlive the process.');
  return new ReviewDesk({ ...options, policy: review, facts });
}
