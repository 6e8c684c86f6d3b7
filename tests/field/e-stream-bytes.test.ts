import { setImmediate as nextTurn } from 'node:timers/promises';
import { listsOf, startFleet, tool } from '../flows/fleet.js';
import { type Answer, reply, sse } from '../support/raw-answers.js';
import { startRawToolset } from '../support/raw-toolset.js';
import { stays, until } from '../support/until.js';
import { toolTurn } from './tool-turn.js';

/** Nothing but a signal can find a change within these tests. */
const NO_POLL = { MCP_AGENT_API_REFRESH_SECONDS: '0', MCP_AGENT_API_DEBOUNCE_MS: '20' };
const LIST_CHANGED = { jsonrpc: '2.0', method: 'notifications/tools/list_changed' };
const ERAS = ['legacy', 'modern'] as const;
/** What the 2026 era wants in the result of a list; older servers' clients ignore it. */
const LIST_FIELDS = { resultType: 'complete', ttlMs: 0, cacheScope: 'private' };
const PRIMING = ['id: 1\ndata: \n\n', ': ping\n\n', 'retry: 500\n\n'];

describe.each(ERAS)('the bytes of a %s toolset', (era) => {
  test('B38: priming events, comments and `retry` are no messages, neither on the stream nor on the answer to a call', async () => {
    const toolset = await startRawToolset({ era, tools: [tool('a', 'one')] });
    toolset.calls.set('a', () => sse([...PRIMING, reply({ resultType: 'complete', content: [{ type: 'text', text: 'called' }] })]));
    toolset.on('tools/list', (exchange) => sse([...PRIMING, reply({ ...LIST_FIELDS, tools: toolset.tools })])(exchange));
    const fleet = await startFleet({ toolset: toolset.url }, { env: NO_POLL });
    expect((await toolTurn(fleet, 'a')).result).toContain('called');
    for (const stream of toolset.streams) for (const text of PRIMING) stream.write(text);
    toolset.tools = [tool('a', 'two')];
    toolset.push();
    await fleet.untilGeneration(2);
    expect(toolset.streams.size).toBe(1);
    expect(fleet.log.filter(({ level }) => level === 'error' || level === 'warn')).toEqual([]);
  });

  test.each([
    ['a byte order mark', '\uFEFF: hello\n\n'],
    ['carriage returns alone', ': hello\r\rid: 7\rdata: \r\r'],
    ['fields that nobody knows', 'foo: bar\nwhatever\n\n'],
    ['a retry that is no number', 'retry: soon\n\n'],
    ['a last line that is cut off', 'data: {"jsonrpc":"2.0"\n\n'],
  ])('B38, variant: %s on the stream does not keep the next notification from being heard', async (_what, text) => {
    const toolset = await startRawToolset({ era, tools: [tool('a', 'one')] });
    const fleet = await startFleet({ toolset: toolset.url }, { env: NO_POLL });
    for (const stream of toolset.streams) stream.write(text);
    toolset.tools = [tool('a', 'two')];
    toolset.push();
    await fleet.untilGeneration(2);
    expect(toolset.streams.size).toBe(1);
  });

  test('B40: characters of several bytes survive delivery byte by byte, and make no difference', async () => {
    const toolset = await startRawToolset({ era, tools: [tool('a', '读取 — ✅ 👩‍🔬 é')] });
    const fleet = await startFleet({ toolset: toolset.url }, { env: NO_POLL });
    const agent = fleet.app.refresher.current?.agent;
    const byteByByte =
      (type: 'json' | 'sse'): Answer =>
      async (exchange) => {
        const message = { jsonrpc: '2.0', id: exchange.id, result: { ...LIST_FIELDS, tools: toolset.tools } };
        if (type === 'sse') return sse([message], { chunkBytes: 1 })(exchange);
        exchange.response.writeHead(200, { 'content-type': 'application/json' });
        for (const byte of Buffer.from(JSON.stringify(message), 'utf8')) {
          exchange.response.write(Buffer.from([byte]));
          await new Promise((resolve) => setImmediate(resolve));
        }
        exchange.response.end();
        return undefined;
      };
    for (const type of ['json', 'sse'] as const) {
      const before = listsOf(toolset);
      toolset.once('tools/list', byteByByte(type));
      expect(await fleet.refresh()).toMatchObject({ status: 200, body: { outcome: 'unchanged' } });
      expect(listsOf(toolset)).toBe(before + 1);
    }
    expect(fleet.app.refresher.current?.agent).toBe(agent);
    expect(await fleet.shown()).toEqual({ a: '读取 — ✅ 👩‍🔬 é' });
  });

  test('B40, variant: notifications and the result of a call survive byte by byte too', async () => {
    const toolset = await startRawToolset({ era, tools: [tool('a', 'one')] });
    const said = reply({ resultType: 'complete', content: [{ type: 'text', text: '已读取 ✅' }] });
    toolset.calls.set('a', () => {
      toolset.tools = [tool('a', 'two')];
      return sse([{ ...LIST_CHANGED, params: { note: '变更' } }, said], { chunkBytes: 1 });
    });
    const fleet = await startFleet({ toolset: toolset.url }, { env: NO_POLL });
    expect((await toolTurn(fleet, 'a')).result).toContain('已读取 ✅');
    await fleet.untilGeneration(2);
  });

  test('B41: a list of 300 kB arrives whole in pieces of 1 kB, with CRLF and one message on several lines', async () => {
    const tools = Array.from({ length: 100 }, (_, index) =>
      tool(`tool_${String(index).padStart(3, '0')}`, `${index} ${'x'.repeat(3_000)}`),
    );
    const toolset = await startRawToolset({ era, tools });
    toolset.on('tools/list', (exchange) => {
      const text = JSON.stringify(reply({ ...LIST_FIELDS, tools })(exchange), null, 1);
      const event = `event: message\r\n${text
        .split('\n')
        .map((line) => `data: ${line}\r\n`)
        .join('')}\r\n`;
      return sse([event], { chunkBytes: 1_024 })(exchange);
    });
    const fleet = await startFleet({ toolset: toolset.url }, { env: NO_POLL });
    expect((await fleet.toolset('toolset')).tools).toBe(100);
    expect(Object.values(await fleet.shown())).toEqual(tools.map(({ description }) => description));
  });

  test('B41, variant: a CRLF that is split between two pieces ends one line, not two', async () => {
    const toolset = await startRawToolset({ era, tools: [tool('a', 'one')] });
    toolset.on('tools/list', async (exchange) => {
      const message = JSON.stringify(reply({ ...LIST_FIELDS, tools: toolset.tools })(exchange));
      const [head, tail] = [message.slice(0, 17), message.slice(17)];
      exchange.response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (const piece of [`data: ${head}`, '\n', 'data: ', tail, '\r', '\n', '\r', '\n']) {
        // A piece has left this side before the next one is written; no condition shows that it was read on the other.
        await new Promise((resolve) => exchange.response.write(piece, resolve));
        await nextTurn();
      }
      exchange.response.end();
    });
    // A line break inside a JSON string would be an error, so the message is cut between two tokens.
    const fleet = await startFleet({ toolset: toolset.url }, { env: NO_POLL });
    expect(await fleet.shown()).toEqual({ a: 'one' });
  });
});

test.each([
  [1, 100],
  [3_600_000, 30_000],
])('B38, variant: a `retry: %i` of the server is followed within 0.1 to 30 s', async (retry, waitMs) => {
  const { ManualClock } = await import('../support/manual-clock.js');
  const clock = new ManualClock();
  const toolset = await startRawToolset({ tools: [tool('a', 'one')] });
  const env = { ...NO_POLL, MCP_AGENT_API_INDEX_SECONDS: '0', MCP_AGENT_API_HEARTBEAT_SECONDS: '0' };
  await startFleet({ toolset: toolset.url }, { env, clock });
  for (const stream of toolset.streams) stream.write(`retry: ${retry}\n\n`);
  toolset.cutStreams('fin');
  // The wait is set once the end has arrived.
  await until(() => clock.nextInMs === waitMs || (retry > 1 && clock.nextInMs !== undefined && toolset.streams.size === 0));
  await clock.advance(waitMs - 1);
  await stays(() => toolset.counts().GET === 1, { durationMs: 100 });
  await clock.advance(1);
  await until(() => toolset.counts().GET === 2);
});
