import type { Catalog } from './catalog.js';
import type { Echo } from './echo.js';
import type { CodedError } from './errors.js';
import type { QuietWindow } from './quiet-window.js';
import type { Reviewed, ReviewPolicy } from './review.js';
import type { Snapshot } from './snapshot.js';
import type { Outcome, Trigger } from './status.js';
import type { SwapTokens } from './swap-tokens.js';
import type { Waiting } from './waiting.js';

/** Time and chance of one step: both are arguments, so that the same events always give the same decisions. */
export interface Moment {
  /** Milliseconds of a monotonic clock. */
  readonly now: number;
  /** A random number in [0, 1). */
  random(): number;
}

export interface RoundSettings {
  readonly debounceMs: number;
  /** The safety poll's interval; 0 turns every poll off. */
  readonly pollMs: number;
  /** The interval for toolsets that cannot push. */
  readonly pollingMs: number;
  /** Which toolsets are under review; none unless given. */
  readonly review?: ReviewPolicy;
}

/** Why a list is asked for, and how its answer is to be read. */
export interface Ask {
  readonly trigger: Trigger;
  /** A notification is among the reasons. */
  readonly notified: boolean;
  /** When the list shows no change, it is followed by one more: servers notify before they update (CONTRACT.md 3.9). */
  readonly verify: boolean;
  /** A scheduled confirmation of an empty list (CONTRACT.md 3.8). */
  readonly confirming: boolean;
  /** A poll is among the reasons. */
  readonly polled: boolean;
  /** Somebody asked by hand, for this toolset by `name` or for `all`: needs no swap token, and a rejected snapshot is tried again. */
  readonly manual: 'no' | 'all' | 'name';
}

/** A list that is wanted, not before `at`. */
export interface Due extends Ask {
  readonly at: number;
}

/** What a list came to, until a round has judged it. */
export type Verdict =
  | {
      readonly kind: 'complete';
      readonly snapshot: Snapshot;
      readonly ask: Ask;
      /** `waiting`: it had been held, and what it waited for has come. */
      readonly from: 'list' | 'waiting';
      /** Whether a notification had come since the complete list before this one began. */
      readonly announced: boolean;
    }
  | { readonly kind: 'failed'; readonly error: CodedError; readonly ask: Ask };

/** What is being done about a toolset. Each phase owns its data. */
export type Work =
  | { readonly doing: 'resting' }
  | {
      readonly doing: 'listing';
      /** Tells this list's answer from one of an earlier list. */
      readonly list: number;
      readonly ask: Ask;
      /** `round`: a round waits for it. `late`: it left its round. `retry`: the toolset is failing and asked outside of the rounds. */
      readonly role: 'round' | 'late' | 'retry';
      readonly askedAt: number;
      /** When it got its place and really began; null while it waits for one. */
      readonly startedAt: number | null;
      readonly leftPlace: boolean;
    }
  | { readonly doing: 'retrying'; readonly at: number };

export interface Failure {
  readonly error: CodedError;
  /** Failed lists in a row. */
  readonly failures: number;
  readonly since: number;
  readonly triedAt: number;
}

/** All that the rounds know of one toolset. */
export interface Toolset {
  readonly id: string;
  readonly name: string;
  /** `wanted`: the index names it. `replaced`: the index names its name at another URL; it stays until that one has given a complete list. */
  readonly standing: 'wanted' | 'replaced';
  readonly work: Work;
  readonly due: Due | null;
  readonly verdict: Verdict | null;
  readonly failure: Failure | null;
  readonly waiting: Waiting | null;
  readonly echo: Echo;
  readonly tokens: SwapTokens;
  /** Whether its subscription is open now, as its session says. */
  readonly watching: boolean;
  /** When the next poll makes it due; null while polls are off. */
  readonly pollAt: number | null;
  /** A poll found a change that nobody had announced; it counts as missed unless a notification comes until then. */
  readonly suspectUntil: number | null;
  readonly missedSignals: number;
  readonly listedAt: number | null;
  /** When the last complete list began. */
  readonly listStartedAt: number | null;
  readonly notifiedAt: number | null;
}

export type Membership =
  | { readonly kind: 'listing' }
  /** A failing toolset that was asked again because of a manual request for everything: its failure is nothing new and aborts nothing. */
  | { readonly kind: 'asking' }
  | { readonly kind: 'done' }
  | { readonly kind: 'still-failing'; readonly error: CodedError }
  | { readonly kind: 'failed'; readonly error: CodedError }
  | { readonly kind: 'late' };

export interface OpenRound {
  readonly number: number;
  readonly trigger: Trigger;
  readonly openedAt: number;
  readonly members: ReadonlyMap<string, Membership>;
  /** Manual requests that this round answers. */
  readonly requests: readonly number[];
}

/** One toolset's change on the way into the next generation. `snapshot` null takes the toolset out. */
export interface CatalogChange {
  readonly name: string;
  readonly id: string;
  readonly snapshot: Snapshot | null;
  /** A poll, a reconnect or a request found it and nothing announced it: other replicas may not know (CONTRACT.md 16.3). */
  readonly unheard: boolean;
}

export type Phase =
  | { readonly kind: 'idle' }
  | { readonly kind: 'listing'; readonly round: OpenRound }
  | { readonly kind: 'building'; readonly round: OpenRound; readonly changes: readonly CatalogChange[]; readonly held: readonly string[] };

export interface Rounds {
  readonly settings: RoundSettings;
  readonly phase: Phase;
  readonly window: QuietWindow | null;
  readonly toolsets: ReadonlyMap<string, Toolset>;
  /** What is known of toolsets under review, by name. */
  readonly reviewed: ReadonlyMap<string, Reviewed>;
  /** What the live generation was built from; null before the first. */
  readonly live: Catalog | null;
  /** When the first toolset answered, while the first generation is not there yet. */
  readonly firstAnswerAt: number | null;
  /** Whether the index has been read once; before that there is nothing to build from. */
  readonly indexRead: boolean;
  readonly lastRound: number;
  readonly lastList: number;
  readonly requests: readonly number[];
}

export type RoundEvent =
  /** Time passed; whatever was to happen by now happens. Every other event does this too. */
  | { readonly type: 'time' }
  /** The toolsets that the index names now. */
  | { readonly type: 'index'; readonly toolsets: readonly { readonly id: string; readonly name: string }[] }
  | { readonly type: 'index-failed'; readonly error: CodedError }
  | { readonly type: 'signal'; readonly id: string; readonly trigger: 'notification' | 'reconnect' | 'index' | 'replica' }
  /** Somebody asks by hand, for one toolset (by id) or for all. */
  | { readonly type: 'request'; readonly request: number; readonly id: string | undefined }
  | { readonly type: 'watching'; readonly id: string; readonly watching: boolean }
  /** A list got its place and began. */
  | { readonly type: 'started'; readonly id: string; readonly list: number }
  | {
      readonly type: 'listed';
      readonly id: string;
      readonly list: number;
      readonly snapshot: Snapshot;
      readonly declaresTools: boolean;
    }
  | { readonly type: 'failed'; readonly id: string; readonly list: number; readonly error: CodedError }
  /** The definitions of a toolset that were approved last, from the store. Has to come before its first list. */
  | { readonly type: 'approved'; readonly snapshot: Snapshot }
  /** A decision about a change that is held for review. A round answers the request, where there is one. */
  | {
      readonly type: 'decided';
      /** By name: a decision holds wherever the toolset is. */
      readonly toolset: string;
      readonly fingerprint: string;
      readonly decision: 'approved' | 'rejected';
      readonly trigger: 'review' | 'replica';
      readonly request: number | null;
    }
  | {
      readonly type: 'built';
      /** Names of the changes that are in the new agent; empty when none could be built. */
      readonly accepted: readonly string[];
      readonly rejected: readonly string[];
      readonly error: CodedError | null;
      readonly catalog: Catalog | null;
    };

export interface ConcludedRound {
  readonly round: number;
  readonly outcome: Outcome;
  readonly trigger: Trigger;
  readonly openedAt: number;
  readonly listed: readonly string[];
  readonly swapped: readonly string[];
  /** Those of `swapped` of which other replicas may not know. */
  readonly unheard: readonly string[];
  readonly held: readonly string[];
  readonly late: readonly string[];
  readonly failing: readonly string[];
  readonly before: Catalog | null;
  readonly after: Catalog | null;
  readonly error: CodedError | null;
  readonly requests: readonly number[];
}

export type RoundEffect =
  | { readonly type: 'list'; readonly id: string; readonly list: number; readonly notified: boolean }
  /** The list goes on, but others may have its place. */
  | { readonly type: 'leave-place'; readonly id: string; readonly list: number }
  | { readonly type: 'build'; readonly base: Catalog | null; readonly changes: readonly CatalogChange[] }
  | { readonly type: 'concluded'; readonly record: ConcludedRound }
  /** A complete list began to wait, or waits for another reason now. */
  | { readonly type: 'held'; readonly id: string; readonly reason: Waiting['reason']; readonly fingerprint: string }
  /** A poll found what a watching toolset had not announced: its subscription is to be opened anew. */
  | { readonly type: 'missed'; readonly id: string }
  /** The toolset is no longer needed by any coming generation. */
  | { readonly type: 'dismissed'; readonly id: string }
  | { readonly type: 'failing'; readonly id: string; readonly error: CodedError; readonly failures: number; readonly first: boolean }
  | { readonly type: 'recovered'; readonly id: string };
