import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { answerCommands, liveWithParent } from '../harness/commands.js';
import { replyTo } from './answers.js';

/** A model provider as a process of its own: OpenAI's chat completions, streamed, without delay or with a pause before each token. */

let tokenMs = 0;
let requests = 0;
let mixedTools = 0;

const server = createServer((request, response) => {
  const parts: Buffer[] = [];
  request.on('data', (part: Buffer) => parts.push(part));
  request.on('end', () => answer(request, response, Buffer.concat(parts).toString('utf8')));
});
server.keepAliveTimeout = 60_000;

answerCommands({
  start: () =>
    new Promise<{ baseUrl: string }>((resolve) => {
      server.listen(0, '127.0.0.1', () => resolve({ baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1` }));
    }),
  setTokenMs({ ms }: { ms: number }) {
    tokenMs = ms;
  },
  counts: () => ({ requests, mixedTools }),
});

liveWithParent();

function answer(request: IncomingMessage, response: ServerResponse, body: string): void {
  if (request.method !== 'POST' || request.url !== '/v1/chat/completions') {
    response.writeHead(404, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ error: { message: `Nothing is served at ${request.method} ${request.url}.` } }));
    return;
  }
  requests++;
  const { pieces, sameTools } = replyTo(JSON.parse(body), requests);
  if (!sameTools) mixedTools++;
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  const events = pieces.map((piece) => `data: ${piece}\n\n`);
  if (tokenMs === 0) response.end(`${events.join('')}data: [DONE]\n\n`);
  else paceOut(response, events);
}

function paceOut(response: ServerResponse, events: readonly string[]): void {
  let next = 0;
  const timer = setInterval(() => {
    const event = events[next++];
    if (event !== undefined) response.write(event);
    else {
      clearInterval(timer);
      response.end('data: [DONE]\n\n');
    }
  }, tokenMs);
  response.on('close', () => clearInterval(timer));
}
