import { CodedError, type ErrorCode } from '../core/errors.js';
import type { JsonObject } from '../core/tool.js';
import { MAX_ANSWER_BYTES, readText } from './answer.js';
import { hasMoreEntries } from './entry-count.js';
import { ReplyStream } from './reply-stream.js';
import { isObject, isRequestOrNotification, type Reply, replyTo } from './rpc-message.js';
import { timeLimit } from './time-limit.js';
import { mediaTypeOf, type OpenAnswer, type UserCall, type Wire } from './wire.js';

/** How long a message that needs no reply, or the rest of a stream after the reply, may take. */
const AFTERTHOUGHT_MS = 10_000;

/** HTTP statuses that say nothing about the protocol era of a server. */
const NO_VERDICT = new Set([401, 403, 408, 425, 429]);

export interface ExchangeRequest {
  readonly headers: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
  readonly call?: UserCall | undefined;
  /** A reply whose lists have more entries than this is refused before it is parsed, as far as that is worth the counting. */
  readonly mostEntries?: number | undefined;
}

interface Wanted {
  readonly id: string | number;
  /** What it means when the stream ends without the reply. */
  readonly codeOfEarlyEnd: ErrorCode;
  readonly request: ExchangeRequest;
}

export type RpcRequest = JsonObject & { readonly id: string | number; readonly method: string };

/** Posts JSON-RPC messages and reads their replies, from JSON or from an event stream, bounded in size. */
export class Exchanges {
  readonly #wire: Wire;
  readonly #deliver: (message: JsonObject) => void;

  /** @param deliver takes every message that arrives besides the reply that was asked for. It must not throw. */
  constructor(wire: Wire, deliver: (message: JsonObject) => void) {
    this.#wire = wire;
    this.#deliver = deliver;
  }

  /**
   * Posts a request and answers its reply, together with the session id that the server may have given. Throws a CodedError
   * for any HTTP status but 2xx, for an answer that is no MCP, and when the answer ends without the reply.
   */
  async ask(message: RpcRequest, request: ExchangeRequest): Promise<{ readonly reply: Reply; readonly session: string | null }> {
    const answer = await this.#post(JSON.stringify(message), request);
    try {
      await this.#wire.refuse(answer.response, request.headers['mcp-session-id'] !== undefined);
      return {
        reply: await this.#readReply(answer, { id: message.id, codeOfEarlyEnd: 'TOOLSET_UNREACHABLE', request }),
        session: answer.response.headers.get('mcp-session-id'),
      };
    } catch (error) {
      answer.end();
      throw this.#wire.failure(error);
    }
  }

  /** Posts a message that has no reply. Throws a CodedError for any HTTP status but 2xx. */
  async tell(message: unknown, request: ExchangeRequest): Promise<number> {
    const limit = timeLimit({ clock: this.#wire.clock, ms: AFTERTHOUGHT_MS, signal: request.signal });
    try {
      const answer = await this.#post(JSON.stringify(message), { ...request, signal: limit.signal });
      try {
        await this.#wire.refuse(answer.response, request.headers['mcp-session-id'] !== undefined);
        // The body of such an answer has no meaning; it is read so that the socket can be used again.
        await readText(answer.response.body, MAX_ANSWER_BYTES);
        return answer.response.status;
      } finally {
        answer.end();
      }
    } catch (error) {
      throw this.#wire.failure(error);
    } finally {
      limit.end();
    }
  }

  /**
   * Posts the question for the protocol era, `server/discover`. A 4xx is handed back as text, because it means "an older
   * server". What says nothing about the era (rate limit, overload, wrong credentials) is thrown, lest a modern server be taken for an old one.
   */
  async probe(
    message: RpcRequest,
    request: ExchangeRequest,
  ): Promise<
    { readonly kind: 'reply'; readonly reply: Reply } | { readonly kind: 'refused'; readonly status: number; readonly text: string }
  > {
    const answer = await this.#post(JSON.stringify(message), request);
    try {
      const { status } = answer.response;
      if (status >= 400 && status < 500 && !NO_VERDICT.has(status))
        return { kind: 'refused', status, text: await readText(answer.response.body, MAX_ANSWER_BYTES) };
      await this.#wire.refuse(answer.response, false);
      return { kind: 'reply', reply: await this.#readReply(answer, { id: message.id, codeOfEarlyEnd: 'TOOLSET_NOT_MCP', request }) };
    } catch (error) {
      answer.end();
      throw this.#wire.failure(error);
    }
  }

  #post(body: string, request: ExchangeRequest): Promise<OpenAnswer> {
    const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...request.headers };
    return this.#wire.open({ method: 'POST', body, headers, signal: request.signal, call: request.call });
  }

  async #readReply(answer: OpenAnswer, wanted: Wanted): Promise<Reply> {
    const type = mediaTypeOf(answer.response);
    if (type === 'text/event-stream') {
      const stream = new ReplyStream(answer, { wire: this.#wire, ...wanted.request });
      const messages = stream.messages();
      try {
        const reply = await this.#replyOn(messages, wanted);
        this.#drain(messages, stream);
        return reply;
      } catch (error) {
        stream.end();
        throw error;
      }
    }
    if (type !== 'application/json') throw this.#notMcp(`answered ${type === '' ? 'without a content type' : type} instead of JSON`);
    const reply = replyTo(wanted.id, this.#parse(await readText(answer.response.body, MAX_ANSWER_BYTES), wanted.request));
    if (reply === undefined) throw this.#notMcp('answered JSON that is not the reply to the request');
    answer.end();
    return reply;
  }

  async #replyOn(messages: AsyncGenerator<string, void>, { id, codeOfEarlyEnd, request }: Wanted): Promise<Reply> {
    for (;;) {
      const next = await messages.next();
      if (next.done) {
        const text = `The event stream of toolset "${this.#wire.toolset}" ended without the reply.`;
        throw new CodedError(codeOfEarlyEnd, text, { toolset: this.#wire.toolset });
      }
      const message = this.#parse(next.value, request);
      if (isObject(message) && isRequestOrNotification(message)) {
        this.#deliver(message);
        continue;
      }
      const reply = replyTo(id, message);
      if (reply === undefined) throw this.#notMcp('sent a message on an event stream that is not the reply to the request');
      return reply;
    }
  }

  /** Reads what follows the reply, so that the socket can be used again and a late notification is heard. */
  #drain(messages: AsyncGenerator<string, void>, stream: ReplyStream): void {
    const cancel = this.#wire.clock.after(AFTERTHOUGHT_MS, () => stream.end());
    stream.finish();
    const read = async () => {
      for await (const data of messages) {
        const message = this.#parse(data, {});
        if (isObject(message) && isRequestOrNotification(message)) this.#deliver(message);
      }
    };
    read()
      // The reply was complete; what breaks after it harms nobody.
      .catch(() => undefined)
      .finally(() => {
        cancel();
        stream.end();
      });
  }

  #parse(text: string, { mostEntries }: { readonly mostEntries?: number | undefined }): unknown {
    if (mostEntries !== undefined && hasMoreEntries(text, mostEntries)) {
      const { toolset } = this.#wire;
      throw new CodedError('LIST_TOO_LARGE', `Toolset "${toolset}" answered a list of more than ${mostEntries} entries.`, { toolset });
    }
    try {
      return JSON.parse(text);
    } catch {
      // The parser's own message quotes the text, so it is not kept as a cause.
      throw this.#notMcp('answered broken JSON');
    }
  }

  #notMcp(what: string): CodedError {
    return new CodedError('TOOLSET_NOT_MCP', `Toolset "${this.#wire.toolset}" ${what}.`, { toolset: this.#wire.toolset });
  }
}
