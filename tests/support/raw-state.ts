import type { Answer, Exchange } from './raw-answers.js';
import { listedResources, type ReceivedCall, type TestResource } from './toolset-parts.js';

/** `legacy`: 2025-era with sessions. `stateless`: 2025-era without. `modern`: 2026-07-28 only. `both`: 2026-07-28, and stateless for older clients. */
export type RawEra = 'legacy' | 'stateless' | 'modern' | 'both';

export interface Note {
  readonly method: string;
  readonly params?: Record<string, unknown>;
}

/** One open GET or `subscriptions/listen` stream. */
export interface RawStream {
  /** The listen request's id and what was acknowledged; undefined for a GET stream. */
  readonly subscription: { readonly id: unknown; readonly honoured: Record<string, unknown> } | undefined;
  /** Writes text as it is. */
  write(text: string): void;
  /** Sends a notification, with the subscription's id where there is one. */
  send(note: Note): void;
  /** Ends in order: with the listen request's result where there is one. */
  finish(): void;
  cut(how: 'fin' | 'rst'): void;
}

/** Code of one tool: a result, or an answer that takes over the whole response. */
export type RawCall = (
  args: Record<string, unknown>,
  exchange: Exchange,
) => Record<string, unknown> | Answer | Promise<Record<string, unknown> | Answer>;

/** What a raw toolset offers and how it behaves where no script says otherwise. All of it may be changed at any time. */
export interface RawSettings {
  era: RawEra;
  /** The entries of the tool list, as raw JSON: also such that are no tools. */
  tools: readonly unknown[];
  resources: readonly TestResource[];
  /** Tools per page; 0 is all in one. */
  pageSize: number;
  capabilities: Record<string, unknown>;
  instructions: string | undefined;
  serverInfo: { name: string; version: string };
  /** What `initialize` answers; undefined is what the client asked for. */
  protocolVersion: string | undefined;
  /** Refuses 2025-era requests whose version header is not `protocolVersion`. */
  strictVersion: boolean;
  /** What a 2026-era server says that it speaks. */
  supportedVersions: readonly string[];
  /** Which part of a listen filter is acknowledged; undefined is what the capabilities declare. The stream then stays open also when that is nothing. */
  honour: ((wanted: Record<string, unknown>) => Record<string, unknown>) | undefined;
  /** Sends a comment on every stream this often, in milliseconds; 0 is never. Read when the stream is opened. */
  keepAliveMs: number;
  /** Whether a stream's headers are sent when it is opened, or held back until its first byte, as some proxies do. */
  streamHeaders: 'at once' | 'with the first byte';
  listAs: 'json' | 'sse';
  /** The status that answers GET; 200 is a stream. */
  getStatus: number;
  /** The status that answers `notifications/initialized`. */
  initializedStatus: number;
}

export interface RawState extends RawSettings {
  readonly calls: Map<string, RawCall>;
  readonly received: ReceivedCall[];
  readonly sessions: Set<string>;
  readonly streams: Set<RawStream>;
}

export function resourceListOf(state: RawState): Record<string, unknown>[] {
  return listedResources({ name: '', tools: [], resources: state.resources, instructions: undefined, calls: [] });
}
