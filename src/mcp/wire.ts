import { type Dispatcher, Headers, request as httpRequest } from 'undici';
import { CodedError } from '../core/errors.js';
import { fallbackVariable } from '../core/fallback-credential.js';
import type { Clock, ToolsetEndpoint } from '../core/ports.js';
import type { Turnstile } from '../turnstile.js';
import { type Body, MAX_ANSWER_BYTES, readText } from './answer.js';
import { decoded } from './content-encoding.js';
import { type Environment, openDispatcher } from './dispatcher.js';
import { failureOf, failureOfStatus, retryAfterOf } from './failure.js';
import { onAbort } from './time-limit.js';

const MAX_REDIRECTS = 5;

/** Why a request is aborted whose answer was read, or is of no use any more. */
const OVER = new Error('The exchange is over.');

/** What one tool call adds to its requests: the user's headers, and a signal that frees the socket when the call is over. */
export interface UserCall {
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

export interface WireOptions {
  readonly endpoint: ToolsetEndpoint;
  readonly env: Environment;
  readonly clock: Clock;
  /** How long a socket may take to be connected, in milliseconds. */
  readonly connectMs: number;
  /** Answers go on one at a time, so that hundreds of toolsets that answer at once do not stop the event loop. */
  readonly turnstile: Turnstile;
}

export interface WireRequest {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal?: AbortSignal | undefined;
  readonly call?: UserCall | undefined;
}

/** What is read of an HTTP answer: its status, its headers by lower-case name, and its body, already decompressed. */
export interface HttpAnswer {
  readonly status: number;
  /** Whether the status is 2xx. */
  readonly ok: boolean;
  readonly headers: { get(name: string): string | null };
  readonly body: Body;
}

/** An HTTP answer whose body is still open. `end` must be called: it cuts what was not read. Calling it twice is harmless. */
export interface OpenAnswer {
  readonly response: HttpAnswer;
  end(): void;
}

/**
 * The HTTP side of one connection: its own sockets, the service's headers on every request, and no redirect to another
 * origin (CONTRACT.md 4.2, 14.2). Everything that it throws is a CodedError.
 */
export class Wire {
  readonly #options: WireOptions;
  readonly #url: URL;
  readonly #dispatcher: Dispatcher;
  readonly #serviceHeaders: Headers;
  readonly #live = new Set<AbortController>();
  #closed = false;

  constructor(options: WireOptions) {
    this.#options = options;
    this.#url = new URL(options.endpoint.url);
    this.#dispatcher = openDispatcher(options);
    this.#serviceHeaders = serviceHeadersOf(options.endpoint, options.env);
  }

  get toolset(): string {
    return this.#options.endpoint.name;
  }

  get clock(): Clock {
    return this.#options.clock;
  }

  /** The values of the headers that the service itself sends with every request. */
  get serviceValues(): readonly string[] {
    return [...this.#serviceHeaders.values()];
  }

  /** Ends every request and every socket. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const controller of this.#live) controller.abort(this.#closedError());
    await this.#dispatcher.destroy();
  }

  /** Sends one request and answers its open response, whatever the status. Redirects are followed within the origin only. */
  async open(request: WireRequest): Promise<OpenAnswer> {
    if (this.#closed) throw this.#closedError();
    const controller = new AbortController();
    const sources = [request.signal, request.call?.signal].filter((signal) => signal !== undefined);
    const stop = () => controller.abort(sources.find((signal) => signal.aborted)?.reason);
    const forget = sources.map((signal) => onAbort(signal, stop));
    const end = () => {
      this.#live.delete(controller);
      for (const each of forget) each();
      // With a reason at hand: without one, an exception with its stack is made for each answer.
      controller.abort(OVER);
    };
    this.#live.add(controller);
    if (sources.some((signal) => signal.aborted)) stop();
    try {
      const response = await this.#send(request, controller.signal);
      await this.#options.turnstile.pass();
      return { response, end };
    } catch (error) {
      end();
      throw this.failure(error);
    }
  }

  /** Throws for every status but 2xx, with what the body says about the session. */
  async refuse(response: HttpAnswer, hasSession: boolean): Promise<void> {
    if (response.ok) return;
    let text = '';
    try {
      text = await readText(response.body, MAX_ANSWER_BYTES);
    } catch {
      // An error page that is too large, or breaks off, changes nothing: the status is what counts.
    }
    throw failureOfStatus({
      toolset: this.toolset,
      status: response.status,
      text,
      hasSession,
      retryAfterMs: retryAfterOf(response.headers.get('retry-after'), this.clock.date()),
    });
  }

  /** The coded form of whatever was thrown while an answer was read. */
  failure(error: unknown): CodedError {
    return this.#closed ? this.#closedError() : failureOf(error, this.toolset);
  }

  /** undici's plain request takes a third of the CPU time of its `fetch`, and lists are most of what this service sends. */
  async #send(request: WireRequest, signal: AbortSignal): Promise<HttpAnswer> {
    const headers = new Headers(this.#serviceHeaders);
    for (const [name, value] of Object.entries(request.call?.headers ?? {})) headers.set(name, value);
    for (const [name, value] of Object.entries(request.headers)) headers.set(name, value);
    // Firewalls in front of servers turn away requests that do not say who sends them.
    if (!headers.has('user-agent')) headers.set('user-agent', 'mcp-agent-api');
    let url = this.#url;
    for (let hops = 0; ; hops += 1) {
      const answer = await httpRequest(url, {
        method: request.method,
        headers: Object.fromEntries(headers),
        dispatcher: this.#dispatcher,
        signal,
        ...(request.body !== undefined && { body: request.body }),
      });
      const response = answerOf(answer);
      const next = redirectOf(response, url);
      if (next === undefined || hops === MAX_REDIRECTS) return response;
      await readText(response.body, MAX_ANSWER_BYTES);
      url = next;
    }
  }

  #closedError(): CodedError {
    return new CodedError('SESSION_CLOSED', `The session with toolset "${this.toolset}" was closed.`, { toolset: this.toolset });
  }
}

function answerOf({ statusCode, headers, body }: Dispatcher.ResponseData): HttpAnswer {
  // A body that breaks off when nobody reads it any more concerns nobody; without a listener it would end the process.
  body.on('error', () => undefined);
  return {
    status: statusCode,
    ok: statusCode >= 200 && statusCode < 300,
    headers: {
      get(name) {
        const value = headers[name];
        return value === undefined ? null : Array.isArray(value) ? value.join(', ') : value;
      },
    },
    body: decoded(body, headers['content-encoding']),
  };
}

/** The media type of an answer without its parameters, lower case; empty when there is none. */
export function mediaTypeOf(response: Pick<HttpAnswer, 'headers'>): string {
  return (response.headers.get('content-type') ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
}

/** The index's headers, and the environment's values for declared credential headers that the index gives no value for (CONTRACT.md 4.2, 7.6). */
function serviceHeadersOf(endpoint: ToolsetEndpoint, env: Environment): Headers {
  const headers = new Headers();
  for (const name of endpoint.credentialHeaders) {
    const variable = fallbackVariable(name);
    const value = variable === undefined ? undefined : env[variable];
    if (value !== undefined && value !== '') headers.set(name, value);
  }
  for (const [name, value] of Object.entries(endpoint.headers)) headers.set(name, value);
  return headers;
}

/** Where a redirect leads, if it may be followed: it keeps the method (307, 308) and stays within the origin. */
function redirectOf(response: HttpAnswer, from: URL): URL | undefined {
  const location = response.headers.get('location');
  if ((response.status !== 307 && response.status !== 308) || location === null) return undefined;
  const to = URL.canParse(location, from.href) ? new URL(location, from) : undefined;
  return to?.origin === from.origin ? to : undefined;
}
