import { once } from 'node:events';
import { createGzip } from 'node:zlib';
import { type Fleet, listsOf, startFleet, tool } from '../flows/fleet.js';
import { type Answer, rpcResult } from '../support/raw-answers.js';
import { type RawToolset, startRawToolset } from '../support/raw-toolset.js';
import { until } from '../support/until.js';
import { heldBytes, peakBytes } from './memory.js';
import { callShown, resultsOf } from './shown-tools.js';

const MB = 1024 * 1024;
const page = (fields: object) => ({ resultType: 'complete', ttlMs: 0, cacheScope: 'private', ...fields });

/** A body of 200 MB, made of one small buffer, so that only the reader can need memory. It ends early when the reader goes away. */
function enormous(options: { type?: string; head?: string; gzip?: boolean; onSent: (bytes: number) => void }): Answer {
  const {
    type = 'application/json',
    head = '{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a","description":"',
    gzip = false,
    onSent,
  } = options;
  return async ({ response, gone }) => {
    response.writeHead(200, { 'content-type': type, ...(gzip && { 'content-encoding': 'gzip' }) });
    const packed = gzip ? createGzip() : undefined;
    packed?.pipe(response);
    const out = packed ?? response;
    const piece = Buffer.alloc(256 * 1024, 'x');
    out.write(head);
    for (let sent = 0; sent < 200 * MB && !gone.aborted; sent += piece.length) {
      onSent(piece.length);
      if (!out.write(piece)) await once(out, 'drain', { signal: gone }).catch(() => undefined);
      // Else a body that is taken at once would never let anybody else run.
      await new Promise((resolve) => setImmediate(resolve));
    }
    out.end();
  };
}

/** A service with one toolset that goes beyond a bound, and one that is in order. */
async function serve(era: 'legacy' | 'modern' = 'legacy'): Promise<{ fleet: Fleet; greedy: RawToolset; steady: RawToolset }> {
  const greedy = await startRawToolset({ era, tools: [tool('a', 'one')] });
  const steady = await startRawToolset({ tools: [tool('b', 'one')] });
  return { fleet: await startFleet({ greedy: greedy.url, steady: steady.url }), greedy, steady };
}

/** The toolset is failing with this code, the model still sees what it saw, and a change of the other toolset is served. */
async function expectHeld({ fleet, steady }: Awaited<ReturnType<typeof serve>>, code: string): Promise<void> {
  expect((await fleet.untilState('greedy', 'failing')).error?.code).toBe(code);
  expect(await fleet.shown()).toEqual({ a: 'one', b: 'one' });
  steady.tools = [tool('b', 'two')];
  steady.push();
  await until(async () => (await fleet.shown()).b === 'two');
  expect((await fleet.shown()).a).toBe('one');
}

describe('answers beyond the bounds (14.1)', () => {
  test.each<[string, { type?: string; head?: string; gzip?: boolean }]>([
    ['JSON', {}],
    ['an event stream', { type: 'text/event-stream', head: 'event: message\ndata: ' }],
    ['many small events', { type: 'text/event-stream', head: ': x\n\n'.repeat(1_000) }],
    ['packed JSON', { gzip: true }],
  ])('200 MB of %s as a tool list end at 16 MiB, with memory flat and the others unaffected', async (_, body) => {
    const all = await serve();
    const { fleet, greedy } = all;
    let sent = 0;
    const mend = greedy.on('tools/list', enormous({ ...body, onSent: (bytes) => (sent += bytes) }));
    const peak = await peakBytes(async () => {
      greedy.push();
      await expectHeld(all, 'LIST_TOO_LARGE');
    });
    expect(peak).toBeLessThan(160 * MB);
    // Buffers of the sockets on both sides may be full, and hold far more of a packed body; without the bound, 200 MB would have been sent.
    if (body.gzip !== true) expect(sent / listsOf(greedy)).toBeLessThan(60 * MB);
    mend();
    greedy.tools = [tool('a', 'mended')];
    await fleet.refresh('greedy');
    await until(async () => (await fleet.shown()).a === 'mended');
  });

  test('200 MB as the answer of a tool call end there too; the model is told, and the run goes on', async () => {
    const { fleet, greedy } = await serve();
    let sent = 0;
    greedy.calls.set('a', () =>
      enormous({ head: '{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"', onSent: (bytes) => (sent += bytes) }),
    );
    let answer: string[] = [];
    const peak = await peakBytes(async () => {
      const turn = await callShown(fleet, [{ name: 'a' }, { name: 'b' }]);
      answer = resultsOf(turn);
      expect(turn.text).toBe('done');
    });
    expect(answer.filter((text) => text.startsWith('Error'))).toHaveLength(1);
    expect(answer.join().length).toBeLessThan(2_000);
    expect(peak).toBeLessThan(160 * MB);
    expect(sent).toBeLessThan(60 * MB);
  });

  test('a million tiny tools, in one page or in many, are too many', async () => {
    const all = await serve('legacy');
    const { greedy, fleet } = all;
    const before = heldBytes();
    const tiny = Buffer.from(`{"name":"x"}${',{"name":"x"}'.repeat(999_999)}`);
    greedy.once('tools/list', ({ response, id }) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.write(
        `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[`,
      );
      response.write(tiny);
      response.end(']}}');
    });
    greedy.push();
    expect((await fleet.untilState('greedy', 'failing')).error?.code).toBe('LIST_TOO_LARGE');
    let pages = 0;
    greedy.on('tools/list', (exchange) => {
      pages += 1;
      const tools = Array.from({ length: 1_000 }, (_, index) => tool(`t${pages}-${index}`, 'x'));
      rpcResult(page({ tools, nextCursor: `page ${pages}` }))(exchange);
    });
    await fleet.refresh('greedy');
    await expectHeld(all, 'LIST_TOO_LARGE');
    expect(pages).toBeLessThan(20);
    expect(heldBytes() - before).toBeLessThan(40 * MB);
  });

  test('a list that promises page after page ends after 200', async () => {
    const all = await serve('modern');
    const { greedy, fleet } = all;
    let pages = 0;
    greedy.on('tools/list', (exchange) => {
      pages += 1;
      rpcResult(page({ tools: pages % 2 === 0 ? [] : [tool(`t${pages}`, 'x')], nextCursor: `page ${pages}` }))(exchange);
    });
    greedy.push();
    expect((await fleet.untilState('greedy', 'failing')).error?.code).toBe('LIST_TOO_LARGE');
    expect(pages).toBe(200);
    await expectHeld(all, 'LIST_TOO_LARGE');
  });
});
