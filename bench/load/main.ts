import { randomUUID } from 'node:crypto';
import { Agent, request as httpRequest, type IncomingMessage } from 'node:http';
import { createParser } from 'eventsource-parser';
import { machineNow } from '../harness/clock.js';
import { answerCommands, liveWithParent } from '../harness/commands.js';
import { CALL_A_TOOL, type TurnKind } from '../model/answers.js';
import { checkOf } from './stream-check.js';
import type { LoadOptions, LoadResult, RunTarget } from './target.js';

/** The client under whose load a service is measured: it begins runs, each on a thread of its own, and reads every stream to its end. */

const agent = new Agent({ keepAlive: true });

interface Tally {
  complete: number;
  failed: number;
  bytes: number;
  readonly failures: string[];
  readonly firstMs: number[];
  readonly openingMs: number[];
  readonly lastMs: number[];
  readonly generations: Set<number>;
}

answerCommands({
  async load(options: LoadOptions): Promise<LoadResult> {
    const tally: Tally = {
      complete: 0,
      failed: 0,
      bytes: 0,
      failures: [],
      firstMs: [],
      openingMs: [],
      lastMs: [],
      generations: new Set(),
    };
    const startedAt = machineNow();
    const work = async () => {
      await oneRun(options, { tally, firstMs: tally.openingMs });
      while (machineNow() < startedAt + options.forMs) await oneRun(options, { tally, firstMs: tally.firstMs });
    };
    await Promise.all(Array.from({ length: options.concurrent }, work));
    const { generations, ...rest } = tally;
    return { ...rest, generations: generations.size, overMs: machineNow() - startedAt };
  },
});

liveWithParent();

async function oneRun({ target, turn }: LoadOptions, { tally, firstMs }: { tally: Tally; firstMs: number[] }): Promise<void> {
  const check = checkOf(target.form, turn);
  const { path, body } = requestOf(target, turn);
  const startedAt = machineNow();
  let firstAt: number | undefined;
  const parser = createParser({
    onEvent({ event, data }) {
      if (check.take(event, data)) firstAt ??= machineNow();
    },
  });
  let fault: string | undefined;
  try {
    const answer = await post(path, body);
    answer.setEncoding('utf8');
    for await (const text of answer) {
      tally.bytes += (text as string).length;
      parser.feed(text as string);
    }
    fault = answer.statusCode === 200 ? check.fault() : `It was answered ${answer.statusCode}.`;
  } catch (error) {
    // The run counts as failed, with this reason.
    fault = String(error);
  }
  if (check.generation !== undefined) tally.generations.add(check.generation);
  if (fault === undefined && firstAt !== undefined) {
    tally.complete++;
    firstMs.push(firstAt - startedAt);
    tally.lastMs.push(machineNow() - startedAt);
    return;
  }
  tally.failed++;
  if (tally.failures.length < 20) tally.failures.push(fault ?? 'Its first event is missing.');
}

function requestOf(target: RunTarget, turn: TurnKind): { path: string; body: string } {
  const threadId = randomUUID();
  const content = `${turn === 'tool' ? CALL_A_TOOL : 'Tell me:'} which invoices are open?`;
  if (target.form === 'langgraph') {
    const input = { messages: [{ role: 'human', content, id: randomUUID() }] };
    const body = { assistant_id: 'agent', input, stream_mode: ['messages-tuple'], if_not_exists: 'create' };
    return { path: `${target.url}/threads/${threadId}/runs/stream`, body: JSON.stringify(body) };
  }
  const messages = [{ id: randomUUID(), role: 'user', content }];
  const body = { threadId, runId: randomUUID(), messages, tools: [], context: [], state: {}, forwardedProps: {} };
  return { path: target.url, body: JSON.stringify(body) };
}

function post(url: string, body: string): Promise<IncomingMessage> {
  const headers = { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(body)), accept: 'text/event-stream' };
  return new Promise((resolve, reject) => {
    const request = httpRequest(url, { method: 'POST', agent, headers }, resolve);
    request.on('error', reject);
    request.end(body);
  });
}
