import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { onCleanup } from './cleanup.js';
import type { Gate } from './gate.js';
import { bodyOf, serveLoopback } from './loopback-server.js';
import { refusalOfRequest } from './model-strictness.js';

export interface ModelMessage {
  readonly role: string;
  readonly content?: unknown;
  readonly tool_calls?: readonly { id: string; function: { name: string; arguments: string } }[];
  readonly tool_call_id?: string;
  readonly [field: string]: unknown;
}

/** One completion request, with the full body as the provider client sent it. */
export interface ModelRequest {
  readonly body: {
    readonly model: string;
    readonly messages: readonly ModelMessage[];
    readonly tools?: readonly { function: { name: string; description?: string; parameters?: unknown } }[];
    readonly stream?: boolean;
    readonly [field: string]: unknown;
  };
  /** The body as text, byte for byte. */
  readonly text: string;
  readonly headers: IncomingHttpHeaders;
  /** Rising from 0. */
  readonly number: number;
  /** True when the client closed the connection before the answer was complete. */
  aborted: boolean;
}

interface Pace {
  /** Waits for this gate before the first token. */
  readonly gate?: Gate;
  /** Pause before each token, in milliseconds. */
  readonly tokenMs?: number;
  /** Stops after so many tokens without ending the answer: `hang` keeps the connection open, `cut` resets it. */
  readonly stopAfter?: { readonly tokens: number; readonly how: 'hang' | 'cut' };
}

/** What the model says: a text, tool calls (several are parallel ones), an HTTP error, or nothing at all for ever. */
export type ModelReply =
  | (Pace & { readonly text: string })
  | (Pace & {
      readonly toolCalls: readonly { readonly name: string; readonly args: Record<string, unknown> | string; readonly id?: string }[];
      readonly text?: string;
    })
  | { readonly status: number; readonly body?: unknown; readonly headers?: Record<string, string> }
  | { readonly hang: true };

export type ModelScript = (request: ModelRequest) => ModelReply | Promise<ModelReply>;

export interface ModelServer {
  /** For `PROVIDER_BASE_URL`: it ends in `/v1`. */
  readonly baseUrl: string;
  readonly requests: readonly ModelRequest[];
  /** Answers all further requests by this function. Before the first call the model answers "ok". */
  reply(script: ModelScript): void;
  close(): Promise<void>;
}

export interface ModelServerOptions {
  /** Answers 400 where a provider would: tool calls without their results, tool names or schemas that providers refuse. */
  strict?: boolean;
}

/** Starts a server that speaks OpenAI's chat completions, streamed and whole, and says what a test tells it to. It ends with the test. */
export async function startModelServer({ strict = false }: ModelServerOptions = {}): Promise<ModelServer> {
  const requests: ModelRequest[] = [];
  let script: ModelScript = () => ({ text: 'ok' });
  const http = await serveLoopback(async (request, response) => {
    const text = await bodyOf(request);
    if (request.method !== 'POST' || request.url !== '/v1/chat/completions') {
      sendJson(response, 404, {
        error: { message: `Nothing is served at ${request.method} ${request.url}.`, type: 'invalid_request_error' },
      });
      return;
    }
    const asked: ModelRequest = { body: JSON.parse(text), text, headers: request.headers, number: requests.length, aborted: false };
    requests.push(asked);
    response.on('close', () => {
      asked.aborted = !response.writableFinished;
    });
    const refusal = strict ? refusalOfRequest(asked.body) : undefined;
    if (refusal !== undefined) {
      sendJson(response, 400, { error: { message: refusal, type: 'invalid_request_error', code: null } });
      return;
    }
    await answer(await script(asked), asked, response);
  });
  onCleanup(() => http.close());
  return {
    baseUrl: `${http.origin}/v1`,
    requests,
    reply(next) {
      script = next;
    },
    close: () => http.close(),
  };
}

/** The tools that the model was shown, in the order of the request. */
export function shownTools(request: ModelRequest | undefined): { name: string; description: string | undefined; parameters: unknown }[] {
  return (request?.body.tools ?? []).map(({ function: tool }) => ({
    name: tool.name,
    description: tool.description,
    parameters: tool.parameters,
  }));
}

async function answer(reply: ModelReply, asked: ModelRequest, response: ServerResponse): Promise<void> {
  if ('hang' in reply) return;
  if ('status' in reply) {
    sendJson(response, reply.status, reply.body ?? { error: { message: 'scripted error', type: 'server_error' } }, reply.headers);
    return;
  }
  const toolCalls = ('toolCalls' in reply ? reply.toolCalls : []).map((call, index) => ({
    index,
    id: call.id ?? `call_${asked.number}_${index}`,
    type: 'function',
    function: { name: call.name, arguments: typeof call.args === 'string' ? call.args : JSON.stringify(call.args) },
  }));
  const turn: Turn = { text: reply.text ?? '', toolCalls, finish: toolCalls.length > 0 ? 'tool_calls' : 'stop', pace: reply };
  await reply.gate?.pass();
  if (asked.body.stream === true) await streamTurn(turn, asked, response);
  else sendTurn(turn, asked, response);
}

interface Turn {
  readonly text: string;
  readonly toolCalls: readonly { index: number; id: string; type: string; function: { name: string; arguments: string } }[];
  readonly finish: string;
  readonly pace: Pace;
}

const USAGE = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };

/** The id differs per answer, because clients make it the message's id. */
function envelope({ body, number }: ModelRequest, object: string): Record<string, unknown> {
  return { id: `chatcmpl-${number}-${Math.random().toString(36).slice(2)}`, object, created: 1_767_225_600, model: body.model };
}

function sendTurn({ text, toolCalls, finish }: Turn, asked: ModelRequest, response: ServerResponse): void {
  const message = {
    role: 'assistant',
    content: text === '' && toolCalls.length > 0 ? null : text,
    ...(toolCalls.length > 0 && { tool_calls: toolCalls.map(({ index: _index, ...call }) => call) }),
  };
  sendJson(response, 200, {
    ...envelope(asked, 'chat.completion'),
    choices: [{ index: 0, message, finish_reason: finish }],
    usage: USAGE,
  });
}

async function streamTurn({ text, toolCalls, finish, pace }: Turn, asked: ModelRequest, response: ServerResponse): Promise<void> {
  const frame = envelope(asked, 'chat.completion.chunk');
  const gone = new AbortController();
  response.on('close', () => gone.abort());
  const send = (chunk: object) => void response.write(`data: ${JSON.stringify({ ...frame, ...chunk })}\n\n`);
  const sendDelta = (delta: object, finishReason: string | null = null) =>
    send({ choices: [{ index: 0, delta, finish_reason: finishReason }] });

  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  sendDelta({ role: 'assistant', content: '' });
  const deltas: object[] = tokensOf(text).map((content) => ({ content }));
  for (const { index, id, type, function: call } of toolCalls) {
    deltas.push({ tool_calls: [{ index, id, type, function: { name: call.name, arguments: '' } }] });
    for (const piece of tokensOf(call.arguments)) deltas.push({ tool_calls: [{ index, function: { arguments: piece } }] });
  }
  for (const [sent, delta] of deltas.entries()) {
    if (pace.stopAfter?.tokens === sent) {
      if (pace.stopAfter.how === 'cut') response.write('', () => response.socket?.resetAndDestroy());
      return;
    }
    // A client that goes away ends the pause; the next look at the signal ends the answer.
    if (pace.tokenMs !== undefined) await sleep(pace.tokenMs, undefined, { signal: gone.signal }).catch(() => undefined);
    if (gone.signal.aborted) return;
    sendDelta(delta);
  }
  sendDelta({}, finish);
  const options = asked.body.stream_options as { include_usage?: boolean } | undefined;
  if (options?.include_usage === true) send({ choices: [], usage: USAGE });
  response.end('data: [DONE]\n\n');
}

/** Words with the space before them, as models produce them; a long word in pieces. */
function tokensOf(text: string): string[] {
  return text.match(/\s*\S{1,12}|\s+$/gu) ?? [];
}

function sendJson(response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}): void {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(text);
}
