import { connect, type Socket } from 'node:net';
import type { Response } from 'express';
import type { AroundRun } from '../../src/http/runs.js';
import { onCleanup } from '../support/cleanup.js';
import { ManualClock } from '../support/manual-clock.js';
import type { ModelReply, ModelRequest } from '../support/model-server.js';
import { runTurn } from '../support/run-client.js';
import { stays, until } from '../support/until.js';
import { startAgentHost } from './agent-host.js';

/** Answers that together are more than the sockets between service and client hold. */
const LONG = 2_000_000;
const ANSWERS = 8;
const LONG_ANSWERS = { name: 'kb', tools: [{ name: 'long', run: () => 'x'.repeat(LONG) }] };

function callLong({ body }: ModelRequest): ModelReply {
  if (body.messages.at(-1)?.role !== 'user') return { text: 'done' };
  return { toolCalls: Array.from({ length: ANSWERS }, () => ({ name: 'long', args: {} })) };
}

/** Begins a run and reads nothing of its answer. */
function stalledRun(url: string): Socket {
  const body = JSON.stringify({ threadId: 't1', runId: 'r1', messages: [{ id: 'm', role: 'user', content: 'much, please' }] });
  const head = [
    'POST /runs HTTP/1.1',
    'host: test',
    'content-type: application/json',
    `content-length: ${body.length}`,
    'connection: close',
  ];
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  onCleanup(() => socket.destroy());
  socket.on('error', () => undefined);
  socket.pause();
  socket.write(`${head.join('\r\n')}\r\n\r\n${body}`);
  return socket;
}

test('a client that stops reading holds its run no longer than the run may take', async () => {
  const clock = new ManualClock();
  const host = await startAgentHost({ toolsets: [LONG_ANSWERS], router: { clock, limits: { maxRuns: 1 } } });
  host.model.reply(callLong);
  stalledRun(host.url);
  await until(() => host.tooling.toolsets[0]?.calls.length === ANSWERS);
  expect((await runTurn(host.url, { text: 'hi' })).status).toBe(503);
  await clock.advance(900_000);
  await until(async () => (await runTurn(host.url, { text: 'hi' })).status === 200);
});

test('a client that reads nothing leaves no more than one event waiting in memory, and gets all of them when it reads on', async () => {
  let response: Response | undefined;
  const aroundRun: AroundRun = ({ req }, run) => {
    response = req.res;
    return run();
  };
  const host = await startAgentHost({ toolsets: [LONG_ANSWERS], router: { aroundRun } });
  host.model.reply(callLong);
  const socket = stalledRun(host.url);
  await until(() => response?.writableNeedDrain, { what: 'the sockets to be full' });
  const full = response?.socket?.bytesWritten;
  const waiting: number[] = [];
  await stays(
    () => {
      waiting.push(response?.writableLength ?? 0);
      return response?.socket?.bytesWritten === full;
    },
    { durationMs: 500 },
  );
  expect(Math.max(...waiting)).toBeLessThan(2 * LONG);
  let bytes = 0;
  let last = '';
  socket.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    last = (last + chunk.toString('latin1')).slice(-500);
  });
  socket.resume();
  await until(() => last.includes('RUN_FINISHED'), { timeoutMs: 20_000 });
  // Each answer comes twice: as a result, and in the snapshot of the messages.
  expect(bytes).toBeGreaterThan(2 * LONG * ANSWERS);
});
