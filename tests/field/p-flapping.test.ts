import { listsOf, startFleet, tool } from '../flows/fleet.js';
import { pass } from '../support/raw-answers.js';
import { type RawToolset, startRawToolset } from '../support/raw-toolset.js';
import { stays, until } from '../support/until.js';
import { fastClock } from './fast-clock.js';

const FACTOR = 40;
const MINUTE_MS = 60_000 / FACTOR;
/** The toolset is polled once a second of the service's clock; limits that only bound failures stay long enough for a slow machine. */
const FAST = {
  MCP_AGENT_API_REFRESH_SECONDS: '1800',
  MCP_AGENT_API_POLLING_SECONDS: '1',
  MCP_AGENT_API_INDEX_SECONDS: '0',
  MCP_AGENT_API_LIST_TIMEOUT_SECONDS: '200',
  MCP_AGENT_API_STARTUP_SECONDS: '6000',
};

const manyTools = (count: number) => Array.from({ length: count }, (_each, at) => tool(`t${String(at).padStart(2, '0')}`, 'one'));

/** Answers each list from the next of these replicas, as a load balancer without affinity does. Returns the function that ends it. */
function replicas(toolset: RawToolset, lists: readonly (readonly unknown[])[]): () => void {
  let turn = 0;
  return toolset.on('tools/list', async (exchange) => {
    toolset.tools = lists[turn % lists.length] ?? [];
    turn += 1;
    await pass(exchange);
  });
}

describe('two replicas that answer in turn', () => {
  test('B123: eighteen tools and none never take the tools away, and cause no swap', async () => {
    const toolset = await startRawToolset({ era: 'stateless', tools: manyTools(18) });
    const fleet = await startFleet({ toolset: toolset.url }, { env: FAST, clock: fastClock(FACTOR) });
    const agent = fleet.app.refresher.current?.agent;
    const settle = replicas(toolset, [[], manyTools(18)]);
    const lists = listsOf(toolset);
    await stays(() => fleet.app.refresher.current?.agent === agent, { durationMs: 2 * MINUTE_MS, what: 'the very same agent' });
    expect(listsOf(toolset)).toBeGreaterThan(lists + 4);
    expect(Object.keys(await fleet.shown())).toHaveLength(18);

    settle();
    toolset.tools = manyTools(19);
    await fleet.untilGeneration(2);
    expect(Object.keys(await fleet.shown())).toHaveLength(19);
  });

  test.each([
    ['one tool more', [tool('a', 'one'), tool('b', 'one')], [tool('a', 'one'), tool('b', 'one'), tool('c', 'one')]],
    ['another description', [tool('a', 'one')], [tool('a', 'two')]],
  ])(
    'B123, second case: with %s swap twenty times and then six times a minute, say so, and what they settle on wins',
    async (_what, one, two) => {
      const other = await startRawToolset({ tools: [tool('z', 'one')] });
      const toolset = await startRawToolset({ era: 'stateless', tools: one });
      const fleet = await startFleet({ toolset: toolset.url, other: other.url }, { env: FAST, clock: fastClock(FACTOR) });
      const number = () => fleet.app.refresher.current?.number ?? 0;
      const settle = replicas(toolset, [two, one]);
      await until(async () => (await fleet.toolset('toolset')).flapping, { what: 'the toolset to be flapping', timeoutMs: 15_000 });
      const before = number();
      await stays(() => number() <= before + 7, { durationMs: MINUTE_MS, what: 'six swaps a minute' });
      expect(fleet.log).toContainEqual(
        expect.objectContaining({ message: 'round held', fields: expect.objectContaining({ held: ['toolset'] }) }),
      );

      // Another toolset's change is not slowed by it.
      const atChange = number();
      other.tools = [tool('z', 'two')];
      other.push();
      await until(async () => (await fleet.shown()).z === 'two', { what: "the other toolset's change" });
      expect(number()).toBeLessThanOrEqual(atChange + 4);

      settle();
      toolset.tools = [tool('settled', 'one')];
      await until(async () => 'settled' in (await fleet.shown()), { what: 'the settled list', timeoutMs: 15_000 });
      await until(async () => !(await fleet.toolset('toolset')).flapping, { what: 'the flapping to be over', timeoutMs: 15_000 });
    },
  );

  test('B123, variant: of which one fails are failing and answering in turn, and the tools stay', async () => {
    const toolset = await startRawToolset({ era: 'stateless', tools: manyTools(3) });
    const fleet = await startFleet({ toolset: toolset.url }, { env: FAST, clock: fastClock(FACTOR) });
    const agent = fleet.app.refresher.current?.agent;
    let turn = 0;
    toolset.on('tools/list', (exchange) => {
      turn += 1;
      if (turn % 2 === 0) exchange.response.writeHead(502).end('Bad gateway');
      else return pass(exchange);
    });
    const lists = listsOf(toolset);
    await stays(() => fleet.app.refresher.current?.agent === agent, { durationMs: MINUTE_MS, what: 'the very same agent' });
    expect(listsOf(toolset)).toBeGreaterThan(lists + 4);
    expect(Object.keys(await fleet.shown())).toHaveLength(3);
  });
});
