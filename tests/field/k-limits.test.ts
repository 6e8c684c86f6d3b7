import { listsOf, startFleet, tool } from '../flows/fleet.js';
import { serveLoopback } from '../support/loopback-server.js';
import { type Answer, hang, respond } from '../support/raw-answers.js';
import { type RawToolset, startRawToolset } from '../support/raw-toolset.js';
import { until } from '../support/until.js';
import { toolTurn } from './tool-turn.js';

const NO_POLL = { MCP_AGENT_API_REFRESH_SECONDS: '0', MCP_AGENT_API_DEBOUNCE_MS: '20' };
/** Longer than any wait that a toolset's first failure has without being asked for one. */
const WAIT_SECONDS = 4;

describe('a toolset that asks to be left alone for a while', () => {
  const asDate = (seconds: number) => new Date(Date.now() + seconds * 1_000).toUTCString();
  const answers: readonly (readonly [string, (seconds: number) => Answer])[] = [
    ['429', (seconds) => respond({ status: 429, headers: { 'retry-after': String(seconds) } })],
    ['503', (seconds) => respond({ status: 503, headers: { 'retry-after': String(seconds) } })],
    ['429 until a date', (seconds) => respond({ status: 429, headers: { 'retry-after': asDate(seconds) } })],
  ];

  test('K: by Retry-After is not asked before, each one by itself, while calls and the others go on', async () => {
    const toolsets = await Promise.all(answers.map((_answer, number) => startRawToolset({ tools: [tool(`t${number}`, 'one')] })));
    const steady = await startRawToolset({ tools: [tool('steady', 'one')] });
    const index = Object.fromEntries(toolsets.map(({ url }, number) => [`toolset${number}`, url]));
    const fleet = await startFleet({ ...index, steady: steady.url }, { env: NO_POLL });
    for (const [number, toolset] of toolsets.entries()) {
      toolset.once('tools/list', (exchange) => answers[number]?.[1](WAIT_SECONDS)(exchange));
      toolset.tools = [tool(`t${number}`, 'two')];
      toolset.push();
    }
    await until(() => toolsets.every((toolset) => listsOf(toolset) === 2));
    expect((await toolTurn(fleet, 't0')).result).toBe('{}');
    steady.tools = [tool('steady', 'two')];
    steady.push();
    await until(async () => (await fleet.shown()).steady === 'two');
    await until(async () => Object.values(await fleet.shown()).every((text) => text === 'two'), { timeoutMs: 15_000 });
    for (const toolset of toolsets) {
      const [refused = 0, next = 0] = toolset.requests
        .filter(({ rpc }) => rpc === 'tools/list')
        .slice(1)
        .map(({ at }) => at);
      // An HTTP date has no fractions of a second.
      expect(next - refused).toBeGreaterThan((WAIT_SECONDS - 1) * 1_000 - 100);
    }
  });

  test('K, variant: and is asked for by hand, is asked now', async () => {
    const toolset = await startRawToolset({ tools: [tool('a', 'one')] });
    const fleet = await startFleet({ toolset: toolset.url }, { env: NO_POLL });
    toolset.once('tools/list', respond({ status: 429, headers: { 'retry-after': '3600' } }));
    toolset.push();
    const { retryAt } = await fleet.untilState('toolset', 'failing');
    expect(Date.parse(retryAt ?? '') - Date.now()).toBeGreaterThan(3_000_000);
    toolset.tools = [tool('a', 'two')];
    expect(await fleet.refresh('toolset')).toMatchObject({ body: { outcome: 'swapped' } });
    expect(await fleet.untilState('toolset', 'watching')).toMatchObject({ failures: 0, retryAt: null });
  });

  test('K, variant: during its handshake, is not asked before either, and comes by itself then', async () => {
    const steady = await startRawToolset({ tools: [tool('steady', 'one')] });
    const toolset = await startRawToolset({ era: 'both', tools: [tool('a', 'one')] });
    toolset.once('server/discover', respond({ status: 429, headers: { 'retry-after': String(WAIT_SECONDS) } }));
    const fleet = await startFleet({ steady: steady.url, toolset: toolset.url }, { env: NO_POLL, wait: false });
    await until(() => toolset.requests.length > 1);
    const [refused = 0, next = 0] = toolset.requests.map(({ at }) => at);
    expect(next - refused).toBeGreaterThan(WAIT_SECONDS * 1_000 - 100);
    // A rate limit says nothing about the era: the toolset is not taken for an older one that cannot push.
    expect(await fleet.untilState('toolset', 'watching')).toMatchObject({ protocol: '2026-07-28' });
  });

  test('K, variant: for less than nothing, for ever or in words, is asked at its usual times', async () => {
    const values = ['-1', '0', 'soon', '99999999999999999999', 'Thu, 01 Jan 1970 00:00:00 GMT'];
    const toolsets = await Promise.all(values.map((_value, number) => startRawToolset({ tools: [tool(`t${number}`, 'one')] })));
    const index = Object.fromEntries(toolsets.map(({ url }, number) => [`toolset${number}`, url]));
    const fleet = await startFleet(index, { env: NO_POLL });
    for (const [number, toolset] of toolsets.entries())
      toolset.once('tools/list', respond({ status: 503, headers: { 'retry-after': values[number] ?? '' } }));
    for (const [number, toolset] of toolsets.entries()) toolset.tools = [tool(`t${number}`, 'two')];
    for (const toolset of toolsets) toolset.push();
    const forEver = 3;
    await until(
      async () => {
        const shown = await fleet.shown();
        return values.every((_value, number) => number === forEver || shown[`t${number}`] === 'two');
      },
      { timeoutMs: 10_000 },
    );
    // One hour is the longest that is waited for (4.4).
    const { retryAt } = await fleet.toolset(`toolset${forEver}`);
    const waitMs = Date.parse(retryAt ?? '') - Date.now();
    expect(waitMs).toBeGreaterThan(3_000_000);
    expect(waitMs).toBeLessThanOrEqual(3_600_000);
  });
});

/** Several toolsets behind one address, told apart by their path, as behind a gateway. */
async function behindOneOrigin(toolsets: readonly RawToolset[]): Promise<readonly string[]> {
  const gateway = await serveLoopback(async (request, response) => {
    const number = Number(request.url?.slice(1));
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const gone = new AbortController();
    response.on('close', () => gone.abort());
    const headers = Object.entries(request.headers).filter(([name]) => !['host', 'connection', 'content-length'].includes(name));
    try {
      const answer = await fetch(toolsets[number]?.url ?? '', {
        method: request.method ?? 'GET',
        headers: headers.map(([name, value]): [string, string] => [name, String(value)]),
        ...(chunks.length > 0 && { body: Buffer.concat(chunks) }),
        signal: gone.signal,
      });
      const kept = [...answer.headers].filter(([name]) => name === 'content-type' || name === 'mcp-session-id');
      response.writeHead(answer.status, Object.fromEntries(kept));
      response.flushHeaders();
      for await (const chunk of answer.body ?? []) response.write(chunk);
      response.end();
    } catch {
      // One of the two sides is gone, so nobody waits for the rest.
      response.destroy();
    }
  });
  return toolsets.map((_toolset, number) => `${gateway.origin}/${number}`);
}

test('B92, variant: more hanging lists than one origin has places do not keep its other toolsets from being listed', async () => {
  const toolsets = await Promise.all(Array.from({ length: 7 }, (_, number) => startRawToolset({ tools: [tool(`t${number}`, 'one')] })));
  const urls = await behindOneOrigin(toolsets);
  const fleet = await startFleet(Object.fromEntries(urls.map((url, number) => [`toolset${number}`, url])), { env: NO_POLL });
  const hanging = toolsets.slice(0, 5);
  for (const toolset of hanging) {
    toolset.on('tools/list', hang);
    toolset.push();
  }
  await until(() => hanging.filter((toolset) => listsOf(toolset) === 2).length >= 4, { what: 'four lists in flight' });
  for (const [number, toolset] of toolsets.entries()) toolset.tools = [tool(`t${number}`, 'two')];
  for (const toolset of toolsets.slice(5)) toolset.push();
  await until(
    async () => {
      const shown = await fleet.shown();
      return shown.t5 === 'two' && shown.t6 === 'two';
    },
    { timeoutMs: 8_000 },
  );
  expect((await fleet.status()).toolsets.filter(({ state }) => state === 'failing')).toEqual([]);
});
