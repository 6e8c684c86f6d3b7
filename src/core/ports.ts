import type { HeldReport, Preview } from './change-report.js';
import type { Decision, GenerationRecord } from './facts.js';
import type { Generation, Lease } from './generation.js';
import type { RefresherEvents } from './refresher-events.js';
import type { Readiness, RefreshStatus, RoundRecord } from './status.js';
import type { JsonObject, ToolDefinition } from './tool.js';
import type { ViewContent } from './view.js';

/**
 * Time and chance as arguments. `now` is monotonic (it never jumps with the wall clock); `date` is the wall clock, for
 * records that people read. Tests hand in a manual clock.
 */
export interface Clock {
  /** Milliseconds of a monotonic clock with an arbitrary start. */
  now(): number;
  /** The wall-clock time. */
  date(): Date;
  /** Calls `run` once after `delayMs`; delays of any length are safe. Returns a function that cancels it. */
  after(delayMs: number, run: () => void): () => void;
  /** A random number in [0, 1). */
  random(): number;
}

/** What the library logs through; a winston logger fits. The message is constant per transition, data goes in the fields. */
export interface Logger {
  debug(message: string, fields?: Record<string, unknown>): void;
  info(message: string, fields?: Record<string, unknown>): void;
  warn(message: string, fields?: Record<string, unknown>): void;
  error(message: string, fields?: Record<string, unknown>): void;
}

/** Where one toolset is, as the index names it. */
export interface ToolsetEndpoint {
  /** The toolset's name: the key in the index. */
  readonly name: string;
  /** The URL of its MCP endpoint (Streamable HTTP). */
  readonly url: string;
  /** Headers for every request of the session (service credentials from the index). */
  readonly headers: Readonly<Record<string, string>>;
  /** Names of request headers, lower case, that this toolset wants from the user of a run (CONTRACT.md 7.6). */
  readonly credentialHeaders: readonly string[];
}

/** One complete walk over a toolset's tool list, not yet judged. */
export interface ToolsetList {
  /** Every entry of every page, as raw JSON, in the order in which they came. */
  readonly tools: readonly ToolDefinition[];
  /** The server's instructions from the handshake, raw. */
  readonly instructions: string | undefined;
  /** False when the server does not declare the `tools` capability; then `tools` is empty because nothing was asked. */
  readonly declaresTools: boolean;
}

/** What a session knows about its connection right now. */
export interface SessionStatus {
  /**
   * `connecting`: no usable connection yet. `watching`: the subscription is really open now. `polling`: the toolset answers,
   * but cannot push at present. `closed`: closed on this side. (`failing` of CONTRACT.md 4.3 is decided by the lists, in refresh/.)
   */
  readonly push: 'connecting' | 'watching' | 'polling' | 'closed';
  /** The negotiated protocol version, for example `2025-11-25`. */
  readonly protocol: string | undefined;
  readonly server: { readonly name: string; readonly version: string } | undefined;
}

/** What a session tells its owner. Called synchronously; the receiver must return at once. */
export interface SessionEvents {
  /** "Something may have changed": a notification arrived, or the stream or the session had to be opened anew. */
  signal(kind: 'notification' | 'reconnect'): void;
  /** The status changed. */
  status(status: SessionStatus): void;
  /** A view may have changed: `resources/list_changed` (no URI) or `resources/updated`. */
  viewsChanged(uri: string | undefined): void;
}

export interface ToolCallRequest {
  /** The tool's own name, as its toolset defined it. */
  readonly tool: string;
  readonly args: JsonObject;
  /** Request headers of this one call: the user's declared credentials. Never kept. */
  readonly headers?: Readonly<Record<string, string>>;
  /** How long to wait for the answer or for the next progress notification, in milliseconds. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
}

export interface ToolCallResult {
  /** MCP content blocks, as received. */
  readonly content: readonly JsonObject[];
  readonly structuredContent?: unknown;
  readonly isError: boolean;
  readonly meta?: JsonObject;
}

/** One view as its toolset answered it. */
export interface ReadView {
  readonly html: Uint8Array;
  /** `_meta.ui.csp` of the content, raw; undefined where it has none. */
  readonly csp: unknown;
}

/** One long-lived MCP client connection to one toolset (CONTRACT.md 4). */
export interface ToolsetSession {
  readonly endpoint: ToolsetEndpoint;
  status(): SessionStatus;
  /** Makes sure that there is a usable connection, with its stream open where the toolset can push. Concurrent callers share one attempt. Throws a CodedError. */
  connect(signal: AbortSignal): Promise<void>;
  /** Walks over the whole tool list. Throws a CodedError; never returns a part. */
  list(signal: AbortSignal): Promise<ToolsetList>;
  /** Calls a tool. Throws a CodedError when there is no answer; a tool's own error is a result with `isError`. */
  call(request: ToolCallRequest): Promise<ToolCallResult>;
  /** Reads one view with the service's own credentials. Throws a CodedError. */
  readView(uri: string, signal: AbortSignal): Promise<ReadView>;
  /** What the entries of the resource list declare that their views may load (`_meta.ui.csp`, raw), by URI. Throws a CodedError. */
  viewPolicies(signal: AbortSignal): Promise<ReadonlyMap<string, unknown>>;
  /** Closes the notification stream and opens it anew (a signal was missed). */
  reopenStream(): void;
  /** Replaces the connection by a fresh one, new before old (changed headers). */
  renew(endpoint: ToolsetEndpoint): void;
  /** Ends everything; the DELETE of the server's session is waited for at most one second. */
  close(): Promise<void>;
}

/** How an agent's tools reach their toolsets. The session is looked up when the call is made, so a session that was re-opened meanwhile serves older generations too. */
export interface Sessions {
  /** @param toolset the toolset's identity, {@link import('./snapshot.js').Snapshot.id}. */
  call(toolset: string, request: ToolCallRequest): Promise<ToolCallResult>;
}

/** A view's content, with the form in which browsers that accept it are sent it; that is made soon after the content was read. */
export interface ServedView extends ViewContent {
  readonly gzip: Uint8Array | undefined;
}

/** Where the HTTP side takes views from; `ViewCache` is one (CONTRACT.md 8). */
export interface ViewSource {
  /** The URI that a path of `GET /views/{toolset}/{view}` means; undefined where no tool of the toolset names such a view. */
  find(toolset: string, view: string): string | undefined;
  /** The view's content, from the toolset only when it was never read. Rejects with a CodedError when that fails. */
  get(toolset: string, uri: string): Promise<ServedView>;
  /** A content by its hash, the live one or one that was replaced a while ago. */
  version(wanted: { readonly toolset: string; readonly uri: string; readonly hash: string }): ServedView | undefined;
  /** The hash of the content that is live now. Where there is none yet, the first caller waits for it as long as `waitMs`, and later ones do not; null where it is not known. */
  hashSoon(toolset: string, uri: string, waitMs: number): Promise<string | null>;
}

/** What the service remembers of its generations, for people (CONTRACT.md 9, 15.3). Every method may reject with a StoreFailure. */
export interface GenerationHistory {
  /** Newest first. */
  generations(limit: number): Promise<readonly GenerationRecord[]>;
  generation(number: number): Promise<GenerationRecord | undefined>;
  /** Newest first. */
  decisions(limit: number): Promise<readonly Decision[]>;
}

/** What came of a decision. `unknown`: no such change was ever held. `superseded`: it waits no more. */
export type DecisionAnswer =
  | { readonly kind: 'decided'; readonly round: RoundRecord }
  | { readonly kind: 'unknown' }
  | { readonly kind: 'superseded' };

/** How the HTTP side hears of what happens; the `on` of an eventemitter3 emitter of {@link RefresherEvents} fits. */
export interface RefresherFeed<Agent> {
  (name: 'swapped', listener: RefresherEvents<Agent>['swapped']): unknown;
  (name: 'held' | 'unchanged' | 'aborted' | 'rejected', listener: (round: RoundRecord) => void): unknown;
  (name: 'listed', listener: RefresherEvents<Agent>['listed']): unknown;
  (name: 'toolset', listener: RefresherEvents<Agent>['toolset']): unknown;
  (name: 'waiting', listener: RefresherEvents<Agent>['waiting']): unknown;
  (name: 'decided', listener: RefresherEvents<Agent>['decided']): unknown;
  (name: 'index', listener: RefresherEvents<Agent>['index']): unknown;
  (name: 'missed', listener: RefresherEvents<Agent>['missed']): unknown;
  (name: 'view', listener: RefresherEvents<Agent>['view']): unknown;
  (name: 'released', listener: RefresherEvents<Agent>['released']): unknown;
}

/**
 * What the HTTP side needs of whoever keeps the agent current; `ToolsetRefresher` is one. With a plain function in its
 * place, a host serves runs on an agent that it keeps itself (CONTRACT.md 12.2).
 */
export interface LiveAgents<Agent> {
  /** Takes the live generation for one run; undefined before the first generation. */
  lease(): Lease<Agent> | undefined;
  /** The live generation, for looking only; undefined before the first. */
  readonly current: Generation<Agent> | undefined;
  status(): RefreshStatus;
  readiness(): Readiness;
  /** Waits for a round that opens after this call and answers its record. Rejects with a RangeError for a toolset that the index does not name. */
  refresh(options?: { readonly toolset?: string; readonly signal?: AbortSignal }): Promise<RoundRecord>;
  /** Lists aside and says what a refresh would do. Rejects with a RangeError for a toolset that the index does not name. */
  preview?(options?: { readonly toolset?: string }): Promise<Preview>;
  /** What was live before and why; without it there is no history. */
  readonly history?: GenerationHistory;
  /** The changes of this fingerprint that wait; empty where there is none. */
  held?(fingerprint: string): readonly HeldReport[];
  /** Decides about a change that is held for review, and answers the round that follows (CONTRACT.md 15.1). Rejects with a StoreFailure. */
  decide?(fingerprint: string, decision: 'approved' | 'rejected'): Promise<DecisionAnswer>;
  /** Calls the listener at every event of this name; without this method the metrics that count events stay empty. */
  readonly on?: RefresherFeed<Agent>;
  /** The toolsets' views; without it there are none. */
  readonly views?: ViewSource;
}
