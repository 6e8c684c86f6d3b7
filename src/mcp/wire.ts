import { type Dispatcher, Headers, type Response as HttpResponse, fetch as undiciFetch } from 'undici';
import { CodedError } from '../core/errors.js';
import { fallbackVariable } from '../core/fallback-credential.js';
import type { Clock, ToolsetEndpoint } from '../core/ports.js';
import { MAX_ANSWER_BYTES, readText } from './answer.js';
import { type Environment, openDispatcher } from './dispatcher.js';
import { failureOf, failureOfStatus, retryAfterOf } from './failure.js';
import { onAbort } from './time-limit.js';

const MAX_REDIRECTS = 5;

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
}

export interface WireRequest {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal?: AbortSignal | undefined;
  readonly call?: UserCall | undefined;
}

/** An HTTP answer whose body is still open. `end` must be called: it cuts what was not read. Calling it twice is harmless. */
export interface OpenAnswer {
  readonly response: HttpResponse;
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
      controller.abort();
    };
    this.#live.add(controller);
    if (sources.some((signal) => signal.aborted)) stop();
    try {
      return { response: await this.#send(request, controller.signal), end };
    } catch (error) {
      end();
      throw this.failure(error);
    }
  }

  /** Throws for every status but 2xx, with what the body says about the session. */
  async refuse(response: HttpResponse, hasSession: boolean): Promise<void> {
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

  async #send(request: WireRequest, signal: AbortSignal): Promise<HttpResponse> {
    const headers = new Headers(this.#serviceHeaders);
    for (const [name, value] of Object.entries(request.call?.headers ?? {})) headers.set(name, value);
    for (const [name, value] of Object.entries(request.headers)) headers.set(name, value);
    let url = this.#url;
    for (let hops = 0; ; hops += 1) {
      const response = await undiciFetch(url, {
        method: request.method,
        headers,
        redirect: 'manual',
        dispatcher: this.#dispatcher,
        signal,
        ...(request.body !== undefined && { body: request.body }),
      });
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

/** The media type of an answer without its parameters, lower case; empty when there is none. */
export function mediaTypeOf(response: HttpResponse): string {
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
function redirectOf(response: HttpResponse, from: URL): URL | undefined {
  const location = response.headers.get('location');
  if ((response.status !== 307 && response.status !== 308) || location === null) return undefined;
  const to = URL.canParse(location, from.href) ? new URL(location, from) : undefined;
  return to?.origin === from.origin ? to : undefined;
}
