import { listsOf, startFleet } from '../flows/fleet.js';
import { type RawToolset, startRawToolset } from '../support/raw-toolset.js';
import { until } from '../support/until.js';
import { relist, reordered, SEARCH, toolsText } from './relisting.js';

const NO_POLL = { MCP_AGENT_API_REFRESH_SECONDS: '0', MCP_AGENT_API_DEBOUNCE_MS: '20' };

describe('what the model is sent', () => {
  const TOOLS = ['delta', 'alpha', 'charlie', 'bravo'].map((name) => ({ ...SEARCH, name, description: `${name} searches.` }));
  const rotated = <T>(items: readonly T[], by: number): T[] => [...items.slice(by), ...items.slice(0, by)];
  const shuffleAtEachList = (toolset: RawToolset) => {
    let turn = 0;
    const all = toolset.tools;
    toolset.on('tools/list', async (exchange) => {
      turn += 1;
      toolset.tools = rotated(all, turn % all.length).map((each) => reordered(each, turn));
      const send = await exchange.prepare();
      toolset.tools = all;
      await send();
    });
  };

  test('B124: keeps its order and its bytes when toolsets reconnect and list in another order, and what did not change keeps them when one changes', async () => {
    const toolsets = await Promise.all(
      ['one', 'two', 'three'].map((name) => startRawToolset({ tools: TOOLS.map((each) => ({ ...each, name: `${name}_${each.name}` })) })),
    );
    toolsets.forEach(shuffleAtEachList);
    const [one, two, three] = toolsets as [RawToolset, RawToolset, RawToolset];
    const fleet = await startFleet({ one: one.url, two: two.url, three: three.url }, { env: NO_POLL });
    const before = await toolsText(fleet);
    for (const toolset of [one, two]) {
      const lists = listsOf(toolset);
      toolset.forgetSessions();
      toolset.cutStreams('rst');
      await until(() => listsOf(toolset) > lists && toolset.streams.size === 1, { what: 'the toolset to be connected again' });
    }
    await relist(fleet, 'one');
    expect(await toolsText(fleet)).toBe(before);
    expect(fleet.app.refresher.current?.number).toBe(1);

    const changedTool = { ...SEARCH, name: 'two_alpha', description: 'Another text.' };
    two.on('tools/list', async (exchange) => {
      two.tools = rotated(TOOLS, 2).map((each) => (each.name === 'alpha' ? changedTool : { ...each, name: `two_${each.name}` }));
      await (await exchange.prepare())();
    });
    two.push();
    await fleet.untilGeneration(2);
    const [was, is] = [before, await toolsText(fleet)].map((text) => (JSON.parse(text) as unknown[]).map((each) => JSON.stringify(each)));
    const at = is?.findIndex((each) => each.includes('Another text.')) ?? -1;
    expect(was?.[at]).toContain('two_alpha');
    expect(is?.toSpliced(at, 1)).toEqual(was?.toSpliced(at, 1));
  });

  test('B125: is the same in twenty requests although the properties come in another order in each list', async () => {
    const toolset = await startRawToolset({ tools: TOOLS });
    shuffleAtEachList(toolset);
    const fleet = await startFleet({ toolset: toolset.url }, { env: NO_POLL });
    const texts = new Set<string>();
    for (let count = 0; count < 20; count += 1) {
      await relist(fleet);
      texts.add(await toolsText(fleet));
    }
    expect(texts.size).toBe(1);
  });

  test('B125, variant: is the same for the tools that did not change, when another one did and the properties come in another order', async () => {
    const toolset = await startRawToolset({ tools: TOOLS });
    const fleet = await startFleet({ toolset: toolset.url }, { env: NO_POLL });
    const before = JSON.parse(await toolsText(fleet)) as unknown[];
    toolset.tools = TOOLS.map((each) => reordered(each.name === 'delta' ? { ...each, description: 'changed' } : each, 3));
    await relist(fleet);
    const after = JSON.parse(await toolsText(fleet)) as unknown[];
    expect(after.slice(0, 3).map((each) => JSON.stringify(each))).toEqual(before.slice(0, 3).map((each) => JSON.stringify(each)));
    expect(JSON.stringify(after[3])).toContain('changed');
  });
});
