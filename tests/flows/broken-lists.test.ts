import type { RoundRecord } from '../../src/core/status.js';
import { gate } from '../support/gate.js';
import {
  type Answer,
  destroy,
  destroyMidway,
  hang,
  hangAfterHeaders,
  held,
  pass,
  reply,
  respond,
  rpcError,
  rpcResult,
  sse,
  trickle,
} from '../support/raw-answers.js';
import { type RawToolset, startRawToolset } from '../support/raw-toolset.js';
import { startSdkToolset } from '../support/sdk-toolset.js';
import { stays, until } from '../support/until.js';
import { type Fleet, having, listsOf, startFleet, tool } from './fleet.js';

/** What both eras accept as a list result; a script decides what is wrong with it. */
const page = (fields: object) => ({ resultType: 'complete', ttlMs: 0, cacheScope: 'private', ...fields });
const first = tool('first', 'of two');

/** The second page is answered by `then`, the first one is in order and promises it. */
const secondPage =
  (then: Answer): Answer =>
  (exchange) =>
    exchange.params.cursor === undefined ? rpcResult(page({ tools: [first], nextCursor: 'two' }))(exchange) : then(exchange);

/** What has no answer in it may count as no MCP, or be waited for in vain. */
const NO_ANSWER = /^(LIST_TIMEOUT|TOOLSET_NOT_MCP|TOOLSET_UNREACHABLE)$/;

/** The ways in which a tool list can be anything but complete (CONTRACT.md 2.1), each with the code that tells it apart. */
const BROKEN: Readonly<Record<string, { readonly answer: Answer; readonly code: string | RegExp }>> = {
  'status 500': { answer: respond({ status: 500, body: 'broken' }), code: 'TOOLSET_SERVER_ERROR' },
  'status 403': { answer: respond({ status: 403 }), code: 'TOOLSET_UNAUTHORIZED' },
  'status 429': { answer: respond({ status: 429, headers: { 'retry-after': '1' } }), code: 'TOOLSET_RATE_LIMITED' },
  'an HTML page': { answer: respond({ headers: { 'content-type': 'text/html' }, body: '<h1>Sign in</h1>' }), code: 'TOOLSET_NOT_MCP' },
  'half a JSON': {
    answer: respond({ headers: { 'content-type': 'application/json' }, body: '{"jsonrpc":"2.0","id":1,"result":{"tools":[' }),
    code: 'TOOLSET_NOT_MCP',
  },
  'an empty body': { answer: respond({ headers: { 'content-type': 'application/json' } }), code: 'TOOLSET_NOT_MCP' },
  'a JSON-RPC error': { answer: rpcError(-32603, 'broken'), code: 'TOOLSET_PROTOCOL_ERROR' },
  'a failing second page': { answer: secondPage(respond({ status: 500 })), code: 'TOOLSET_SERVER_ERROR' },
  'a second page that never comes': { answer: secondPage(hang), code: 'LIST_TIMEOUT' },
  'a repeating cursor': { answer: rpcResult(page({ tools: [first], nextCursor: 'again' })), code: 'LIST_INCOMPLETE' },
  'tools: null': { answer: rpcResult(page({ tools: null })), code: 'LIST_MALFORMED' },
  'no tools at all': { answer: rpcResult(page({})), code: 'LIST_MALFORMED' },
  'a string among the tools': { answer: rpcResult(page({ tools: [first, 'second'] })), code: 'LIST_MALFORMED' },
  'a tool without a name': { answer: rpcResult(page({ tools: [first, { inputSchema: { type: 'object' } }] })), code: 'LIST_MALFORMED' },
  'no answer': { answer: hang, code: 'LIST_TIMEOUT' },
  'headers and no body': { answer: hangAfterHeaders(), code: 'LIST_TIMEOUT' },
  'a body that never ends': { answer: trickle('{"jsonrpc":"2.0"  ', { everyMs: 50 }), code: 'LIST_TIMEOUT' },
  "an answer with somebody else's id": { answer: rpcResult(page({ tools: [first] }), { id: 'not yours' }), code: NO_ANSWER },
  'a reset': { answer: destroy, code: 'TOOLSET_UNREACHABLE' },
  'a reset in the middle': { answer: destroyMidway(), code: 'TOOLSET_UNREACHABLE' },
  'an event stream that ends without the answer': { answer: sse([': nothing\n\n']), code: NO_ANSWER },
  'an event stream cut in the middle': {
    answer: sse([(exchange) => `data: ${JSON.stringify(reply(page({ tools: [first] }))(exchange))}`.slice(0, 40)], { end: 'rst' }),
    code: NO_ANSWER,
  },
};

const KINDS = Object.keys(BROKEN);
const named = (kind: string) => kind.replace(/\W+/g, '-');

describe.each(['legacy', 'modern'] as const)('lists that are not complete, all at once, from toolsets of era %s', (era) => {
  const toolsets = new Map<string, RawToolset>();
  let steady: Awaited<ReturnType<typeof startSdkToolset>>;
  let fleet: Fleet;
  let mended: (() => void)[] = [];
  let untilSwap: readonly RoundRecord[] = [];

  beforeAll(async () => {
    steady = await startSdkToolset({ era: 'legacy', tools: [tool('steady', 'one')] });
    for (const kind of KINDS) toolsets.set(kind, await startRawToolset({ era, tools: [tool(named(kind), 'before')] }));
    const index = Object.fromEntries([...toolsets].map(([kind, { url }]) => [named(kind), url]));
    fleet = await startFleet(
      { ...index, steady: steady.url },
      { env: { MCP_AGENT_API_LIST_TIMEOUT_SECONDS: '4', MCP_AGENT_API_DEBOUNCE_MS: '500' } },
    );
    mended = [...toolsets].map(([kind, toolset]) => toolset.on('tools/list', BROKEN[kind]?.answer ?? pass));
    for (const toolset of toolsets.values()) {
      toolset.tools = [tool('gone', 'never seen by the model')];
      toolset.push();
    }
    steady.setTools([tool('steady', 'two')]);
    await fleet.untilGeneration(2);
    untilSwap = [...fleet.rounds()];
  });

  test("another toolset's change was served after at most one aborted round", async () => {
    expect((await fleet.shown()).steady).toBe('two');
    expect(having(untilSwap, 'aborted').length).toBeLessThanOrEqual(1);
    expect(having(untilSwap, 'swapped').at(-1)?.toolsets.swapped).toEqual(['steady']);
  });

  test.each(KINDS)('%s changes nothing that the model sees, and the toolset is failing', async (kind) => {
    const { error } = await fleet.untilState(named(kind), 'failing');
    expect(error?.code).toMatch(BROKEN[kind]?.code ?? 'a kind of the table');
    expect(await fleet.shown()).toMatchObject({ [named(kind)]: 'before' });
  });

  test('each of them heals alone, without a signal', async () => {
    for (const [kind, toolset] of toolsets) toolset.tools = [tool(named(kind), 'after')];
    for (const mend of mended) mend();
    // A walk that had begun before must not go on with the mended list: no client could tell that the pages do not belong together.
    for (const toolset of toolsets.values()) {
      toolset.on('tools/list', (exchange) => (exchange.params.cursor === undefined ? pass : rpcError(-32602, 'unknown cursor'))(exchange));
    }
    // After 401 or 403 a toolset is asked every minute; a request asks it now.
    await fleet.refresh(named('status 403'));
    const healed = { ...Object.fromEntries(KINDS.map((kind) => [named(kind), 'after'])), steady: 'two' };
    await until(async () => expect(await fleet.shown()).toEqual(healed) === undefined, { what: 'all to heal', timeoutMs: 20_000 });
    for (const kind of KINDS) await fleet.untilState(named(kind), 'watching');
    expect(await fleet.readiness()).toEqual({ status: 200, body: { status: 'ready' } });
  });
});

describe('a list that takes long', () => {
  test("holds another toolset's change up for two seconds at most, and counts when it comes", async () => {
    const slow = await startRawToolset({ tools: [tool('slow', 'one')] });
    const quick = await startSdkToolset({ era: 'legacy', tools: [tool('quick', 'one')] });
    const fleet = await startFleet({ slow: slow.url, quick: quick.url });
    const barrier = gate();
    slow.once('tools/list', held(barrier));
    slow.tools = [tool('slow', 'two')];
    slow.push();
    quick.setTools([tool('quick', 'two')]);
    const changedAt = performance.now();
    await fleet.untilGeneration(2);
    expect(performance.now() - changedAt).toBeLessThan(6_000);
    expect(await fleet.shown()).toEqual({ slow: 'one', quick: 'two' });
    expect(fleet.rounds().at(-1)).toMatchObject({ outcome: 'swapped', toolsets: { late: ['slow'], failing: [] } });
    expect((await fleet.toolset('slow')).state).toBe('watching');
    barrier.open();
    await until(async () => (await fleet.shown()).slow === 'two');
    expect(having(fleet.rounds(), 'aborted')).toEqual([]);
  });
});

describe('an empty list', () => {
  test('of a toolset that had tools is not believed at once, and a list with tools ends the doubt', async () => {
    const toolset = await startRawToolset({ tools: [tool('a', 'one')] });
    const fleet = await startFleet({ toolset: toolset.url });
    toolset.tools = [];
    toolset.push();
    await until(async () => (await fleet.toolset('toolset')).held?.reason === 'empty');
    expect(await fleet.shown()).toEqual({ a: 'one' });
    expect(having(fleet.rounds(), 'held')).toHaveLength(1);
    toolset.tools = [tool('a', 'two')];
    await fleet.untilGeneration(2);
    expect(await fleet.shown()).toEqual({ a: 'two' });
    expect((await fleet.toolset('toolset')).held).toBeNull();
  });
});

describe('a list with more pages', () => {
  test.each(['legacy', 'modern'] as const)('is walked to its end before it counts (%s)', async (era) => {
    const toolset = await startRawToolset({ era, pageSize: 2, tools: ['a', 'b', 'c', 'd', 'e'].map((name) => tool(name, 'one')) });
    const fleet = await startFleet({ toolset: toolset.url });
    expect(Object.keys(await fleet.shown())).toEqual(['a', 'b', 'c', 'd', 'e']);
    const barrier = gate();
    toolset.on('tools/list', (exchange) => (exchange.params.cursor === 'after 4' ? held(barrier)(exchange) : pass(exchange)));
    toolset.tools = ['a', 'b', 'c', 'd', 'e'].map((name) => tool(name, 'two'));
    const before = listsOf(toolset);
    toolset.push();
    await until(() => barrier.waiting() === 1);
    expect(new Set(Object.values(await fleet.shown()))).toEqual(new Set(['one']));
    barrier.open();
    await fleet.untilGeneration(2);
    expect(new Set(Object.values(await fleet.shown()))).toEqual(new Set(['two']));
    await stays(() => listsOf(toolset) === before + 3, { durationMs: 300 });
  });
});
