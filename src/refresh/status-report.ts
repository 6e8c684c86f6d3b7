import { type HeldReport, reportHeld } from '../core/change-report.js';
import type { ChangeClass } from '../core/diff.js';
import { CodedError } from '../core/errors.js';
import type { Generation } from '../core/generation.js';
import type { Clock, Logger, SessionStatus } from '../core/ports.js';
import type { ToolsetChange } from '../core/refresher-events.js';
import { comparedWith } from '../core/review.js';
import type { Rounds, Toolset } from '../core/round-state.js';
import type { Snapshot } from '../core/snapshot.js';
import type { ShownError, ToolsetState, ToolsetStatus } from '../core/status.js';
import { tokensAt } from '../core/swap-tokens.js';

/** Turns the monotonic instants of the rounds into wall-clock times. */
export type Instant = (at: number | null) => string | null;

export function instants({ now, date }: { now: number; date: Date }): Instant {
  return (at) => (at === null || !Number.isFinite(at) ? null : new Date(date.getTime() + at - now).toISOString());
}

export function shownError(error: CodedError, url?: string): ShownError {
  return {
    code: error.code,
    ...(error.toolset === undefined ? {} : { toolset: error.toolset }),
    message: error.message,
    ...(url === undefined ? {} : { url }),
  };
}

/** A toolset's state in one word (CONTRACT.md 4.3): lists that fail outweigh whatever the stream does. */
export function stateOf(toolset: Toolset, session: SessionStatus | undefined): ToolsetState {
  if (toolset.failure !== null) return 'failing';
  if (session === undefined || toolset.listedAt === null) return 'connecting';
  return session.push;
}

export interface ToolsetReport {
  readonly toolset: Toolset;
  readonly url: string;
  readonly session: SessionStatus | undefined;
  readonly live: Snapshot | undefined;
  /** What the list that waits would change. */
  readonly heldClasses: readonly ChangeClass[];
  readonly now: number;
  readonly instant: Instant;
}

export function reportToolset({ toolset, url, session, live, heldClasses, now, instant }: ToolsetReport): ToolsetStatus {
  const { failure, waiting, due, pollAt, work } = toolset;
  const nextListAt = failure === null ? Math.min(due?.at ?? Number.POSITIVE_INFINITY, pollAt ?? Number.POSITIVE_INFINITY) : null;
  return {
    name: toolset.name,
    url,
    state: stateOf(toolset, session),
    protocol: session?.protocol ?? null,
    server: session?.server ?? null,
    tools: live?.tools.length ?? 0,
    hiddenCharacters: live?.hidden.characters ?? 0,
    fingerprint: live?.fingerprint ?? null,
    listedAt: instant(toolset.listedAt),
    nextListAt: instant(nextListAt),
    notifiedAt: instant(toolset.notifiedAt),
    missedSignals: toolset.missedSignals,
    flapping: waiting?.reason === 'flapping' || tokensAt(toolset.tokens, now) < 1,
    held:
      waiting === null
        ? null
        : { reason: waiting.reason, fingerprint: waiting.snapshot.fingerprint, since: instant(waiting.since) ?? '', classes: heldClasses },
    failures: failure?.failures ?? 0,
    error: failure === null ? null : shownError(failure.error, url),
    retryAt: work.doing === 'retrying' ? instant(work.at) : null,
  };
}

/** One line for a change of a toolset's state; of its URL only where it leads to, because some URLs carry a key in their path or query. */
export function logState(logger: Logger, { toolset, from, to, error, url }: ToolsetChange & { readonly url: string }): void {
  const origin = URL.canParse(url) ? { origin: new URL(url).origin } : {};
  const fields = { toolset, from, to, ...(error === null ? {} : { code: error.code, ...origin, error: error.message }) };
  if (to === 'failing') logger.warn('toolset failing', fields);
  else logger.info(`toolset ${to}`, fields);
}

/** Whether a toolset is being listed, or is due for it until then. */
export function isListing(toolset: Toolset | undefined, until: number): boolean {
  return toolset !== undefined && (toolset.work.doing === 'listing' || (toolset.due !== null && toolset.due.at <= until));
}

/** Anything that a list can throw, as an error with a code. */
export function asCoded(error: unknown, toolset: string): CodedError {
  if (error instanceof CodedError) {
    const { code, message, status, retryAfterMs } = error;
    return error.toolset === undefined ? new CodedError(code, message, { toolset, status, retryAfterMs, cause: error }) : error;
  }
  return new CodedError('TOOLSET_UNREACHABLE', 'The toolset could not be listed.', { toolset, cause: error });
}

export interface RefreshReport {
  readonly now: number;
  readonly date: Date;
  readonly current: Generation | undefined;
  readonly toolsets: readonly Toolset[];
  readonly urlOf: (id: string) => string;
  readonly sessionOf: (id: string) => SessionStatus | undefined;
  readonly heldClasses: (toolset: Toolset) => readonly ChangeClass[];
  readonly index: { readonly error: CodedError | null; readonly readAt: Date | null };
}

/** The part of `GET /refresh` that is about the live generation and the toolsets. */
export function reportRefresh({ now, date, current, toolsets, urlOf, sessionOf, heldClasses, index }: RefreshReport) {
  const instant = instants({ now, date });
  const live = new Map(current?.catalog.snapshots.map((snapshot) => [snapshot.toolset, snapshot]));
  const wanted = toolsets.filter(({ standing }) => standing === 'wanted');
  return {
    generation: current?.number ?? 0,
    fingerprint: current?.fingerprint ?? null,
    builtAt: current?.builtAt.toISOString() ?? null,
    nextPollAt: instant(Math.min(...wanted.map(({ pollAt }) => pollAt ?? Number.POSITIVE_INFINITY))),
    toolsets: wanted
      .map((toolset) => {
        const { id, name } = toolset;
        const found = { url: urlOf(id), session: sessionOf(id), live: live.get(name), heldClasses: heldClasses(toolset) };
        return reportToolset({ toolset, ...found, now, instant });
      })
      .sort((a, b) => (a.name < b.name ? -1 : 1)),
    index: { error: index.error === null ? null : shownError(index.error), readAt: index.readAt?.toISOString() ?? null },
  };
}

/** The lists of this fingerprint that wait, with how they differ from what is live. */
export function reportHeldLists(rounds: Rounds, fingerprint: string, clock: Clock): readonly HeldReport[] {
  const instant = instants({ now: clock.now(), date: clock.date() });
  return [...rounds.toolsets.values()].flatMap(({ name, waiting }) => {
    if (waiting?.snapshot.fingerprint !== fingerprint) return [];
    return [reportHeld({ waiting, before: comparedWith(rounds, name), since: instant(waiting.since) ?? '' })];
  });
}
