import type { z } from 'zod';
import {
  type DryRun,
  dryRunSchema,
  type GenerationDetail,
  generationSchema,
  problemSchema,
  type Round,
  roundSchema,
  type Status,
  statusSchema,
} from './answers.js';
import { shownText } from './shown-text.js';
import { CommandFailure } from './terminal.js';
import type { Token } from './token.js';

/** How much of an error's text is shown, in characters. */
const SHOWN_DETAIL = 500;

/** Statuses below 500 that say "not now". */
const BUSY = new Set([408, 425, 429]);

export interface ServiceOptions {
  /** The base URL; it may have a path, where a host serves the routes below one. */
  readonly url: string;
  readonly token: Token | undefined;
  /** The variable in which the command looks for a token first, for the message that none was given. */
  readonly tokenVariable: string;
}

export interface Ask {
  readonly toolset: string | undefined;
  readonly signal: AbortSignal;
}

/** A running service, as the commands see it. Every method throws a CommandFailure, or the signal's reason. */
export class Service {
  readonly #base: URL;
  readonly #token: Token | undefined;
  readonly #tokenVariable: string;

  constructor({ url, token, tokenVariable }: ServiceOptions) {
    this.#base = new URL(url);
    this.#base.search = '';
    this.#base.hash = '';
    if (!this.#base.pathname.endsWith('/')) this.#base.pathname += '/';
    this.#token = token;
    this.#tokenVariable = tokenVariable;
  }

  /** Where it is, as messages name it. */
  get url(): string {
    return this.#base.href;
  }

  status(signal: AbortSignal): Promise<Status> {
    return this.#json(statusSchema, 'refresh', { signal });
  }

  /** `POST /refresh`: the record of the round that answers it (CONTRACT.md 3.14). */
  refresh({ toolset, signal }: Ask): Promise<Round> {
    return this.#json(roundSchema, 'refresh', { ...bodyOf(toolset), signal }).catch(withHint(toolset));
  }

  /** `POST /refresh?dry=true`: what a refresh would change. */
  tryRefresh({ toolset, signal }: Ask): Promise<DryRun> {
    return this.#json(dryRunSchema, 'refresh?dry=true', { ...bodyOf(toolset), signal }).catch(withHint(toolset));
  }

  /** `GET /generations/{n}`: what the swap to it changed. */
  generation(number: number, signal: AbortSignal): Promise<GenerationDetail> {
    return this.#json(generationSchema, `generations/${number}`, { signal });
  }

  /** Any route, with the token; the answer is a success. */
  async request(path: string, init: RequestInit): Promise<Response> {
    const headers = new Headers(init.headers);
    if (this.#token !== undefined) headers.set('authorization', `Bearer ${this.#token.value}`);
    const response = await fetch(new URL(path, this.#base), { ...init, headers }).catch((error: unknown) => {
      if (init.signal?.aborted) throw init.signal.reason;
      throw new CommandFailure('away', `The service at ${this.url} cannot be reached${reasonOf(error)}.`, { cause: error });
    });
    if (response.ok) return response;
    throw await refusal(response, this.#aboutToken());
  }

  /** What the person at the terminal should know when the token did not do. */
  #aboutToken(): string {
    if (this.#token !== undefined) return `The token was read from ${this.#token.from}.`;
    return `This command found no token: set ${this.#tokenVariable}, or name a file with --token-file.`;
  }

  async #json<Answer>(schema: z.ZodType<Answer>, path: string, init: RequestInit): Promise<Answer> {
    const response = await this.request(path, init);
    const answer: unknown = await response.json().catch((error: unknown) => {
      if (init.signal?.aborted) throw init.signal.reason;
      throw new CommandFailure('away', `The answer of ${this.url} was not complete, or is no JSON.`, { cause: error });
    });
    const parsed = schema.safeParse(answer);
    if (parsed.success) return parsed.data;
    throw new CommandFailure('refused', `What answers at ${this.url} is no mcp-agent-api, or one of another version.`, {
      cause: parsed.error,
    });
  }
}

function bodyOf(toolset: string | undefined): RequestInit {
  const body = JSON.stringify(toolset === undefined ? {} : { toolset });
  return { method: 'POST', headers: { 'content-type': 'application/json' }, body };
}

/** A toolset's own token is refused where the request names no toolset; the service cannot know how this command names one. */
function withHint(toolset: string | undefined) {
  return (error: unknown): never => {
    if (!(error instanceof CommandFailure) || error.status !== 403 || toolset !== undefined) throw error;
    const { kind, status } = error;
    throw new CommandFailure(kind, `${error.message} A toolset's own token needs --toolset NAME.`, { cause: error, status });
  };
}

async function refusal(response: Response, aboutToken: string): Promise<CommandFailure> {
  const { status } = response;
  const text = await response.text().catch((error: unknown) => String(error));
  const hint = status === 401 || status === 403 ? ` ${aboutToken}` : '';
  const shown = shownText(detailOf(text).slice(0, SHOWN_DETAIL));
  return new CommandFailure(
    status >= 500 || BUSY.has(status) ? 'away' : 'refused',
    `The service answered ${status}${shown === '' ? '.' : `: ${shown}${/[.!?]$/.test(shown) ? '' : '.'}`}${hint}`,
    { status },
  );
}

function detailOf(text: string): string {
  try {
    const { detail } = problemSchema.parse(JSON.parse(text));
    return typeof detail === 'string' ? detail : JSON.stringify(detail ?? '');
  } catch {
    // A proxy on the way answers in its own form; then the status has to say enough.
    return '';
  }
}

/** The code of the system's error, which says more than "fetch failed". */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
  return typeof code === 'string' ? ` (${code})` : '';
}
