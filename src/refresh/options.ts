import type { Catalog } from '../core/catalog.js';
import type { Facts } from '../core/facts.js';
import type { Clock, Logger, Sessions } from '../core/ports.js';
import type { ReplicaLink } from '../core/replicas.js';
import type { ReviewPolicy } from '../core/review.js';

export interface RefresherOptions<Agent> {
  /** What `MCP_URL` is: an index (URL or file path), or one MCP endpoint. */
  readonly url: string;
  /** Builds an agent from a catalog. Called aside from the live agent, for each swap and each dry run; when it throws, the live agent stays. */
  readonly build: (catalog: Catalog, sessions: Sessions) => Agent | Promise<Agent>;
  /** The safety poll in seconds; 0 turns it off. Default 1800. */
  readonly everySeconds?: number;
  /** How often toolsets that cannot push are listed, in seconds; never longer than `everySeconds`. Default 30. */
  readonly pollingSeconds?: number;
  /** How often the index is read, in seconds; 0 reads it at the start and on request. Default 60, or 0 when the poll is off. */
  readonly indexSeconds?: number;
  /** How long signals are collected before a round opens, in milliseconds. Default 100. */
  readonly debounceMs?: number;
  /** The bound on one toolset's whole list, in seconds. Default 10. */
  readonly listTimeoutSeconds?: number;
  /** How often an open session is asked whether it still exists, in seconds; 0 turns it off. Default 60. */
  readonly heartbeatSeconds?: number;
  /** When `start()` gives up, in seconds. Default 60. */
  readonly startupSeconds?: number;
  /** When the service is ready although toolsets are missing, in seconds. Default 15. */
  readonly readySeconds?: number;
  /** Toolsets without which nothing is ready; `*` for all. Default none. */
  readonly required?: readonly string[] | '*';
  /** How long a replaced view stays available by its hash, in seconds: as long as a run may need it. Default 3600. */
  readonly viewSeconds?: number;
  /** Where `${MCP_HEADER_…}` and fallback credentials come from. Default `process.env`. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Default: nothing is logged. */
  readonly logger?: Logger;
  readonly clock?: Clock;
  /** The name of this process at `GET /refresh`. Default: the host name. */
  readonly instance?: string;
  /** Toolsets whose changes wait for a decision (CONTRACT.md 15); default none. Needs `facts`, where decisions are kept. */
  readonly review?: ReviewPolicy;
  /** Where generation numbers come from and generations are recorded; without it numbers rise from 1. */
  readonly facts?: Facts;
  /** The way to other replicas, where there may be some (CONTRACT.md 16.3). */
  readonly link?: ReplicaLink;
}

export interface RefreshRequest {
  /** The toolset to list, by its name in the index; every toolset without it. */
  readonly toolset?: string;
  readonly signal?: AbortSignal;
}

export type { DecisionMade, EndedList, HeldChange, RefresherEvents, Swap, ToolsetChange, ViewChange } from '../core/refresher-events.js';
