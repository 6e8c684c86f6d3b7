import { having, listsOf, startFleet, tool } from '../flows/fleet.js';
import { type Answer, destroy, hang, pass, respond, rpcError, rpcResult } from '../support/raw-answers.js';
import { type RawToolset, startRawToolset } from '../support/raw-toolset.js';
import { stays, until } from '../support/until.js';

const NO_POLL = { MCP_AGENT_API_REFRESH_SECONDS: '0', MCP_AGENT_API_DEBOUNCE_MS: '20' };
const ERAS = ['legacy', 'modern'] as const;

/** A list result that both eras accept. */
const page = (tools: readonly object[], nextCursor?: string): Answer =>
  rpcResult({ resultType: 'complete', ttlMs: 0, cacheScope: 'private', tools, ...(nextCursor !== undefined && { nextCursor }) });

/** Answers each cursor by a page of its own; `first` is the one that is asked for without a cursor. */
const pages =
  (first: Answer, byCursor: Readonly<Record<string, Answer>>): Answer =>
  (exchange) => {
    const { cursor } = exchange.params;
    if (cursor === undefined) return first(exchange);
    return (byCursor[String(cursor)] ?? rpcError(-32602, 'Invalid cursor'))(exchange);
  };

/** The cursors of all list requests since this request, in order. */
const cursorsSince = (toolset: RawToolset, count: number) =>
  toolset.requests
    .slice(count)
    .filter(({ rpc }) => rpc === 'tools/list')
    .map(({ body }) => (body as { params?: { cursor?: unknown } }).params?.cursor);

const named = (...names: string[]) => names.map((name) => tool(name, `the tool ${name}`));

describe.each(ERAS)('a list on several pages (%s)', (era) => {
  test('B51: is shown whole, and its cursors come back exactly as they were sent', async () => {
    const odd = ['eyJvZmZzZXQiOjJ9==', `with spaces, ümläüts, "quotes" and ${'x'.repeat(4_096)}`];
    const toolset = await startRawToolset({ era });
    const [second = '', third = ''] = odd;
    toolset.on('tools/list', pages(page(named('a', 'b'), second), { [second]: page(named('c', 'd'), third), [third]: page(named('e')) }));
    const fleet = await startFleet({ toolset: toolset.url }, { env: NO_POLL });
    expect(Object.keys(await fleet.shown())).toEqual(['a', 'b', 'c', 'd', 'e']);
    expect(cursorsSince(toolset, 0)).toEqual([undefined, ...odd]);
  });

  test('B57: has the same fingerprint on one, three and thirty pages, and is no change', async () => {
    const toolset = await startRawToolset({ era, tools: named(...Array.from({ length: 30 }, (_, number) => `t${number}`)) });
    const fleet = await startFleet({ toolset: toolset.url }, { env: NO_POLL });
    const { fingerprint, tools } = await fleet.toolset('toolset');
    const agent = fleet.app.refresher.current?.agent;
    for (const pageSize of [10, 1]) {
      toolset.pageSize = pageSize;
      const before = toolset.requests.length;
      expect(await fleet.refresh('toolset')).toMatchObject({ body: { outcome: 'unchanged' } });
      expect(cursorsSince(toolset, before)).toHaveLength(30 / pageSize);
    }
    expect(await fleet.toolset('toolset')).toMatchObject({ fingerprint, tools });
    expect(fleet.app.refresher.current?.agent).toBe(agent);
  });
});

test('B57, variant: tools that move between pages, and empty pages in between, are no change', async () => {
  const toolset = await startRawToolset({ tools: named('a', 'b', 'c') });
  const fleet = await startFleet({ toolset: toolset.url }, { env: NO_POLL });
  const agent = fleet.app.refresher.current?.agent;
  toolset.on('tools/list', pages(page([], '1'), { '1': page(named('c'), '2'), '2': page([], '3'), '3': page(named('b', 'a')) }));
  expect(await fleet.refresh('toolset')).toMatchObject({ body: { outcome: 'unchanged' } });
  expect(fleet.app.refresher.current?.agent).toBe(agent);
});

describe('a list whose cursor does not lead to an end', () => {
  const eight = named('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h');
  let page7 = 0;
  const endless: readonly [string, Answer, number][] = [
    ['B52: that stays the same', page(eight, '8'), 2],
    [
      'B52, variant: that goes back and forth between two',
      pages(page(named('a'), 'x'), { x: page(named('b'), 'y'), y: page(named('a'), 'x') }),
      3,
    ],
    ['B52, variant: that is new each time while the page stays the same', (exchange) => page(eight, `cursor ${++page7}`)(exchange), 2],
    ['B52, variant: that is new each time with ever new tools', (exchange) => page(named(`t${++page7}`), `c${page7}`)(exchange), 200],
    ['B52, variant: that is new each time with empty pages', (exchange) => page([], `c${++page7}`)(exchange), 200],
  ];

  test.each(endless)('%s, stops and counts as failed, and the tools stay', async (_what, answer, requests) => {
    const toolset = await startRawToolset({ tools: [tool('kept', 'one')] });
    const fleet = await startFleet({ toolset: toolset.url }, { env: NO_POLL });
    toolset.on('tools/list', answer);
    const before = listsOf(toolset);
    void fleet.refresh('toolset');
    const { error } = await fleet.untilState('toolset', 'failing');
    expect(error).toMatchObject({ code: expect.stringMatching(/^LIST_(INCOMPLETE|TOO_LARGE)$/), url: toolset.url });
    // A list is tried three times at most.
    expect(listsOf(toolset) - before).toBeLessThanOrEqual(3 * requests);
    expect(await fleet.shown()).toEqual({ kept: 'one' });
    expect(fleet.app.refresher.current?.number).toBe(1);
    expect(fleet.log).toContainEqual(
      expect.objectContaining({ level: 'warn', message: 'toolset failing', fields: expect.objectContaining({ toolset: 'toolset' }) }),
    );
  });
});

describe.each(ERAS)('a list whose second page fails (%s)', (era) => {
  const failures: readonly [string, Answer][] = [
    ['500', respond({ status: 500 })],
    ['no answer', hang],
    ['an invalid cursor (-32602)', rpcError(-32602, 'Invalid cursor')],
    ['a reset', destroy],
    ['an expired cursor as 400 (variant)', respond({ status: 400, body: 'cursor expired' })],
    ['an empty result (variant)', rpcResult({})],
  ];

  test('B55: changes nothing, is begun again at the first page, and counts when it is whole', async () => {
    const toolsets = await Promise.all(
      failures.map(async ([what, answer], number) => {
        const names = ['a', 'b', 'c'].map((name) => `${name}${number}`);
        return { what, answer, names, name: `toolset${number}`, toolset: await startRawToolset({ era, tools: named(...names) }) };
      }),
    );
    const index = Object.fromEntries(toolsets.map(({ name, toolset }) => [name, toolset.url]));
    const env = { ...NO_POLL, MCP_AGENT_API_LIST_TIMEOUT_SECONDS: '2' };
    const fleet = await startFleet(index, { env });
    const before = await fleet.shown();
    expect(Object.keys(before)).toHaveLength(3 * toolsets.length);

    const counts = toolsets.map(({ toolset }) => toolset.requests.length);
    const mended = toolsets.map(({ toolset, names, answer }) =>
      toolset.on('tools/list', pages(page(named(...names.slice(0, 2)), 'two'), { two: answer })),
    );
    for (const { toolset } of toolsets) toolset.push();
    for (const { name } of toolsets) await fleet.untilState(name, 'failing');
    expect(await fleet.shown()).toEqual(before);
    for (const [number, { toolset }] of toolsets.entries()) {
      const cursors = cursorsSince(toolset, counts[number] ?? 0);
      expect(cursors[0]).toBeUndefined();
      for (const [at, cursor] of cursors.entries()) if (cursors[at - 1] === 'two') expect(cursor).toBeUndefined();
    }
    expect(fleet.app.refresher.current?.number).toBe(1);

    for (const { toolset, names } of toolsets) toolset.tools = named(...names, `${names[0]}-new`);
    for (const mend of mended) mend();
    await until(async () => Object.keys(await fleet.shown()).length === 4 * toolsets.length);
  });
});

describe('a list that changes between two of its pages', () => {
  test('B56: never binds a tool twice, and is whole after the notification', async () => {
    const toolset = await startRawToolset({ tools: named('a', 'b', 'c') });
    const fleet = await startFleet({ toolset: toolset.url }, { env: NO_POLL });
    toolset.once('tools/list', page(named('a', 'b'), 'after 2'), page([tool('b', 'another'), tool('d', 'new')]));
    toolset.tools = [tool('x', 'new'), ...named('a', 'b', 'c', 'd')];
    void fleet.refresh('toolset');
    // The strict provider refuses a request with two tools of one name.
    await until(async () => 'd' in (await fleet.shown()));
    toolset.push();
    await until(async () => 'x' in (await fleet.shown()));
    expect(Object.keys(await fleet.shown())).toEqual(['a', 'b', 'c', 'd', 'x']);
  });

  test('B56, variant: and announces it while the second page is under way, ends with the full list', async () => {
    const toolset = await startRawToolset({ tools: named('a', 'b', 'c'), pageSize: 2 });
    const fleet = await startFleet({ toolset: toolset.url }, { env: NO_POLL });
    toolset.once('tools/list', pass, async (exchange) => {
      toolset.tools = named('new', 'a', 'b', 'c');
      toolset.push();
      await pass(exchange);
    });
    void fleet.refresh('toolset');
    await until(async () => Object.keys(await fleet.shown()).join() === 'a,b,c,new');
    await stays(() => having(fleet.rounds(), 'aborted').length === 0, { durationMs: 200 });
  });

  test('B56, variant: and drops one so that the last page is empty, loses no other tool', async () => {
    const toolset = await startRawToolset({ tools: named('a', 'b', 'c'), pageSize: 2 });
    const fleet = await startFleet({ toolset: toolset.url }, { env: NO_POLL });
    toolset.once('tools/list', pass, async (exchange) => {
      toolset.tools = named('a', 'b');
      await pass(exchange);
    });
    expect(await fleet.refresh('toolset')).toMatchObject({ body: { outcome: 'swapped', changes: { removed: ['c'] } } });
    expect(Object.keys(await fleet.shown())).toEqual(['a', 'b']);
  });
});
