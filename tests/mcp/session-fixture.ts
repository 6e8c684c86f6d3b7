import type { Clock, Logger, ToolsetEndpoint, ToolsetList, ToolsetSession } from '../../src/core/ports.js';
import { openSession } from '../../src/mcp/session.js';
import type { SessionLimits } from '../../src/mcp/session-limits.js';
import { systemClock } from '../../src/system-clock.js';
import { Turnstile } from '../../src/turnstile.js';
import { onCleanup } from '../support/cleanup.js';

export const SILENT: Logger = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };

/** Times of the contract, divided so that a test need not wait; waits that only bound failures stay long enough for a slow machine. */
export const SHORT: Partial<SessionLimits> = { probeMs: 700, streamOpenMs: 700, reopenMinMs: 20, reopenMaxMs: 300, stableMs: 5_000 };

/** A session together with everything that it told its owner. */
export interface WatchedSession extends ToolsetSession {
  readonly signals: ('notification' | 'reconnect')[];
  /** Every status in order, as `push`. */
  readonly pushes: string[];
  readonly views: (string | undefined)[];
  /** Lists with a time limit of its own. */
  listNow(timeoutMs?: number): Promise<ToolsetList>;
  /** The names of a list made now. */
  names(): Promise<string[]>;
  /** Connects with a time limit. */
  start(): Promise<void>;
}

export interface FixtureOptions {
  readonly name?: string;
  readonly headers?: Record<string, string>;
  readonly credentialHeaders?: string[];
  readonly clock?: Clock;
  readonly env?: Record<string, string | undefined>;
  readonly heartbeatSeconds?: number;
  readonly limits?: Partial<SessionLimits>;
  readonly logger?: Logger;
}

export function endpointOf(url: string, options: FixtureOptions = {}): ToolsetEndpoint {
  return { name: options.name ?? 'kb', url, headers: options.headers ?? {}, credentialHeaders: options.credentialHeaders ?? [] };
}

/** Opens a session that is closed with the test. */
export function watchedSession(url: string, options: FixtureOptions = {}): WatchedSession {
  const signals: ('notification' | 'reconnect')[] = [];
  const pushes: string[] = [];
  const views: (string | undefined)[] = [];
  const session = openSession({
    endpoint: endpointOf(url, options),
    clock: options.clock ?? systemClock,
    logger: options.logger ?? SILENT,
    env: options.env ?? {},
    turnstile: new Turnstile(),
    heartbeatSeconds: options.heartbeatSeconds ?? 0,
    clientInfo: { name: 'test-client', version: '1.0.0' },
    limits: { ...SHORT, ...options.limits },
    events: {
      signal: (kind) => signals.push(kind),
      status: ({ push }) => pushes.push(push),
      viewsChanged: (uri) => views.push(uri),
    },
  });
  onCleanup(() => session.close());
  const listNow = (timeoutMs = 10_000) => session.list(AbortSignal.timeout(timeoutMs));
  return Object.assign(session, {
    ...{ signals, pushes, views, listNow },
    names: async () => (await listNow()).tools.map((tool) => tool.name),
    start: () => session.connect(AbortSignal.timeout(10_000)),
  });
}

/** The code of the error that a promise rejects with; fails when it does not reject. */
export async function codeOf(promise: Promise<unknown>): Promise<string> {
  return promise.then(
    (value) => {
      throw new Error(`Expected a rejection, got ${JSON.stringify(value)}`);
    },
    (error: { code?: string; message?: string }) => error.code ?? `no code: ${error.message}`,
  );
}

/** A real clock that runs `factor` times as fast. Times that bound real network traffic have to be that much longer. */
export function fastClock(factor: number): Clock {
  return {
    now: () => systemClock.now() * factor,
    date: () => systemClock.date(),
    random: () => systemClock.random(),
    after: (delayMs, run) => systemClock.after(delayMs / factor, run),
  };
}
