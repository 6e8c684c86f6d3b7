import { bodyOf, type LoopbackServer, serveLoopback } from '../support/loopback-server.js';
import { beginTurn, type RunEvent, runTurn, runVerifiedTurn } from '../support/run-client.js';
import { until } from '../support/until.js';

const MESSAGE = { messageId: 'm1' };

function goodEvents({ threadId, runId }: { threadId: string; runId: string }): RunEvent[] {
  return [
    { type: 'RUN_STARTED', threadId, runId },
    { type: 'TEXT_MESSAGE_START', ...MESSAGE, role: 'assistant' },
    { type: 'TEXT_MESSAGE_CONTENT', ...MESSAGE, delta: 'Grüß ' },
    { type: 'TEXT_MESSAGE_CONTENT', ...MESSAGE, delta: 'Gott' },
    { type: 'TEXT_MESSAGE_END', ...MESSAGE },
    { type: 'RUN_FINISHED', threadId, runId },
  ];
}

/** A server that answers every run with these events, and then ends the stream or keeps it open. */
async function serveRuns(
  eventsFor: (input: { threadId: string; runId: string }) => RunEvent[],
  { stayOpen = false }: { stayOpen?: boolean } = {},
): Promise<{ http: LoopbackServer; bodies: Record<string, unknown>[] }> {
  const bodies: Record<string, unknown>[] = [];
  const http = await serveLoopback(async (request, response) => {
    const body = JSON.parse(await bodyOf(request));
    bodies.push({ ...body, user: request.headers['x-user'] });
    response.writeHead(200, { 'content-type': 'text/event-stream', 'x-agent-generation': '7' });
    response.write(': waiting\n\n');
    for (const event of eventsFor(body)) response.write(`data: ${JSON.stringify(event)}\n\n`);
    if (!stayOpen) response.end();
  });
  return { http, bodies };
}

test('runTurn posts one user message and collects the events', async () => {
  const { http, bodies } = await serveRuns(goodEvents);
  const turn = await runTurn(http.origin, { text: 'Hello', threadId: 't1', headers: { 'x-user': 'ada' } });
  expect(turn).toMatchObject({ status: 200, threadId: 't1', text: 'Grüß Gott', comments: ['waiting'] });
  expect(turn.headers.get('x-agent-generation')).toBe('7');
  expect(turn.events.map((event) => event.type)).toHaveLength(6);
  expect(bodies[0]).toMatchObject({ threadId: 't1', runId: turn.runId, user: 'ada', messages: [{ role: 'user', content: 'Hello' }] });
});

test('runTurn hands out the body of an answer that is no stream', async () => {
  const http = await serveLoopback((_request, response) => {
    response.writeHead(409, { 'content-type': 'application/json' }).end('{"detail":{"reason":"run_in_progress"}}');
  });
  const turn = await runTurn(http.origin, { text: 'Hello' });
  expect(turn).toMatchObject({ status: 409, events: [], problem: { detail: { reason: 'run_in_progress' } } });
});

test('a running turn shows its events while they arrive, and can be left', async () => {
  const { http } = await serveRuns((ids) => goodEvents(ids).slice(0, 3), { stayOpen: true });
  const turn = await beginTurn(http.origin, { text: 'Hello' });
  await until(() => turn.text() === 'Grüß ');
  expect(http.active()).toBe(1);
  turn.leave();
  await expect(turn.done).rejects.toThrow('aborted');
  await until(() => http.active() === 0);
});

describe('a verified turn', () => {
  test('passes with events that keep to the protocol', async () => {
    const { http } = await serveRuns(goodEvents);
    const turn = await runVerifiedTurn(http.origin, { text: 'Hello' });
    expect(turn.text).toBe('Grüß Gott');
    expect(turn.events.map((event) => event.type)).toEqual(goodEvents({ threadId: '', runId: '' }).map((event) => event.type));
    expect(turn.messages.map((message) => message.role)).toEqual(['user', 'assistant']);
  });

  test('passes with a run that ends in an error event', async () => {
    const { http } = await serveRuns((ids) => [...goodEvents(ids).slice(0, 1), { type: 'RUN_ERROR', message: 'no', code: 'x' }]);
    const turn = await runVerifiedTurn(http.origin, { text: 'Hello' });
    expect(turn.events.at(-1)).toMatchObject({ type: 'RUN_ERROR', code: 'x' });
  });

  test.each<[string, (events: RunEvent[]) => RunEvent[]]>([
    ['content before RUN_STARTED', (events) => events.slice(1)],
    ['content without its start', (events) => events.filter((event) => event.type !== 'TEXT_MESSAGE_START')],
    ['an event after RUN_FINISHED', (events) => [...events, { type: 'TEXT_MESSAGE_START', messageId: 'm2', role: 'assistant' }]],
    ['an event without its fields', ([first, ...rest]) => [first as RunEvent, { type: 'TEXT_MESSAGE_START' }, ...rest]],
    ['a stream that just ends', (events) => events.slice(0, 5)],
    ['no event at all', () => []],
  ])('throws on %s', async (_what, spoil) => {
    const { http } = await serveRuns((ids) => spoil(goodEvents(ids)));
    await expect(runVerifiedTurn(http.origin, { text: 'Hello' })).rejects.toThrow();
  });

  test('throws on an answer that is no stream', async () => {
    const http = await serveLoopback((_request, response) => response.writeHead(503).end('{}'));
    await expect(runVerifiedTurn(http.origin, { text: 'Hello' })).rejects.toThrow('503');
  });
});
