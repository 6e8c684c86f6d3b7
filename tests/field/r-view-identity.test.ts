import { startFleet, tool } from '../flows/fleet.js';
import { startRawToolset } from '../support/raw-toolset.js';
import { type SdkEra, startSdkToolset } from '../support/sdk-toolset.js';
import { until } from '../support/until.js';
import { toolTurn } from './tool-turn.js';
import { getView, page, untilView, viewTool } from './view-kit.js';

const SHARED = 'ui://app/index.html';

/** The URI of the view that a run names, and the hash of its content. */
async function viewInRun(fleet: Parameters<typeof toolTurn>[0], name: string) {
  const { events } = await toolTurn(fleet, name);
  const activity = events.find(({ type }) => type === 'ACTIVITY_SNAPSHOT');
  return activity?.content as { uri: string; hash: string | null } | undefined;
}

describe('B138: two toolsets that name the same URI', () => {
  test.each<[SdkEra, SdkEra]>([
    ['legacy', 'modern'],
    ['legacy', 'legacy'],
  ])('each serve their own page, and a change of one leaves the other (%s and %s)', async (first, second) => {
    const offer = (name: string) => ({
      tools: [viewTool(name, { ui: { resourceUri: SHARED } })],
      resources: [{ uri: SHARED, text: page(name) }],
    });
    const one = await startSdkToolset({ era: first, ...offer('one') });
    const two = await startSdkToolset({ era: second, ...offer('two') });
    const fleet = await startFleet({ one: one.url, two: two.url });
    const of = (toolset: string) => getView(fleet, `${toolset}/${encodeURIComponent('app/index.html')}`);
    expect((await of('one')).text).toBe(page('one'));
    const before = await of('two');
    expect(before.text).toBe(page('two'));

    one.setResources([{ uri: SHARED, text: page('new') }]);
    await untilView(fleet, 'one/app/index.html', page('new'));
    expect(await of('two')).toMatchObject({ text: page('two'), hash: before.hash });
    // A hash is good for the view that had it, and for no other one.
    expect((await getView(fleet, `one/app/index.html?hash=${before.hash}`)).status).toBe(404);
  });

  test('do not shadow each other where one is named like the other’s authority', async () => {
    const one = await startSdkToolset({
      era: 'legacy',
      tools: [viewTool('one', { ui: { resourceUri: 'ui://two/x' } })],
      resources: [{ uri: 'ui://two/x', text: page('of one') }],
    });
    const two = await startSdkToolset({
      era: 'legacy',
      tools: [viewTool('two', { ui: { resourceUri: 'ui://two/x' } }), viewTool('deep', { ui: { resourceUri: 'ui://x' } })],
      resources: [
        { uri: 'ui://two/x', text: page('of two') },
        { uri: 'ui://x', text: page('the second choice') },
      ],
    });
    const fleet = await startFleet({ one: one.url, two: two.url });
    expect((await getView(fleet, 'two/x')).text).toBe(page('of two'));
    expect((await getView(fleet, 'one/two%2Fx')).text).toBe(page('of one'));
    expect((await getView(fleet, 'one/x')).status).toBe(404);
  });
});

test.each([
  ['nested', (uri: string) => ({ ui: { resourceUri: uri } })],
  ['flat', (uri: string) => ({ 'ui/resourceUri': uri })],
])('B138: a tool whose view moves to another URI is shown in the new one, written %s', async (_spelling, meta) => {
  const resources = ['a', 'b'].map((name) => ({ uri: `ui://kb/${name}`, text: page(name) }));
  const kb = await startSdkToolset({ era: 'legacy', tools: [viewTool('look', meta('ui://kb/a'))], resources });
  const fleet = await startFleet({ kb: kb.url });
  const first = await viewInRun(fleet, 'look');
  expect(first).toMatchObject({ uri: 'ui://kb/a', hash: expect.stringMatching(/^sha256-[0-9a-f]{64}$/) });

  kb.setTools([viewTool('look', meta('ui://kb/b'))]);
  await fleet.untilGeneration(2);
  const second = await viewInRun(fleet, 'look');
  expect(second?.uri).toBe('ui://kb/b');
  expect(await getView(fleet, 'kb/b')).toMatchObject({ text: page('b'), hash: second?.hash });
  // What was served before stays available to those who show an older result.
  expect((await getView(fleet, 'kb/a')).text).toBe(page('a'));
});

test('B138: a toolset that leaves the index takes its views with it, and what a run showed stays for a while', async () => {
  const kb = await startSdkToolset({
    era: 'legacy',
    tools: [viewTool('look', { ui: { resourceUri: SHARED } })],
    resources: [{ uri: SHARED, text: page('kb') }],
  });
  const other = await startSdkToolset({ era: 'legacy', tools: [tool('stay', 'Stays.')] });
  const fleet = await startFleet({ kb: kb.url, other: other.url });
  const { hash } = await getView(fleet, 'kb/app/index.html');
  fleet.index.set({ other: other.url });
  await fleet.untilGeneration(2);
  await until(async () => (await getView(fleet, 'kb/app/index.html')).status === 404);
  expect(await getView(fleet, `kb/app/index.html?hash=${hash}`)).toMatchObject({ status: 200, text: page('kb') });
});

describe('B139: the spellings of a view’s URI', () => {
  const NESTED = 'ui://kb/nested';
  const FLAT = 'ui://kb/flat';
  const cases: readonly (readonly [string, Record<string, unknown>, string | undefined])[] = [
    ['nested', { ui: { resourceUri: NESTED } }, NESTED],
    ['flat', { 'ui/resourceUri': FLAT }, FLAT],
    ['both', { ui: { resourceUri: NESTED }, 'ui/resourceUri': FLAT }, NESTED],
    ['number', { ui: { resourceUri: 42 } }, undefined],
    ['http', { ui: { resourceUri: 'http://evil' } }, undefined],
    ['long', { ui: { resourceUri: `ui://kb/${'x'.repeat(10_000)}` } }, undefined],
    ['spaces', { ui: { resourceUri: 'ui://kb/a b\r\nset-cookie: x' } }, undefined],
    ['empty', { ui: { resourceUri: 'ui://' } }, undefined],
    ['nothing', { ui: 7 }, undefined],
  ];

  test('nested, flat and both name a view; odd values are ignored with a warning, and every tool stays usable', async () => {
    const kb = await startRawToolset({
      tools: cases.map(([name, meta]) => viewTool(name, meta)),
      resources: [NESTED, FLAT].map((uri) => ({ uri, text: page(uri) })),
    });
    const fleet = await startFleet({ kb: kb.url });
    expect(Object.keys(await fleet.shown()).sort()).toEqual(cases.map(([name]) => name).sort());
    for (const [name, , uri] of cases) {
      const { events, result } = await toolTurn(fleet, name);
      expect([name, result]).toEqual([name, expect.not.stringContaining('Error')]);
      const activities = events.filter(({ type }) => type === 'ACTIVITY_SNAPSHOT');
      expect([name, activities.map(({ content }) => (content as { uri: string }).uri)]).toEqual([name, uri === undefined ? [] : [uri]]);
    }
    const ignored = fleet.log.filter(({ message }) => message === 'view ignored');
    expect(ignored.map(({ level }) => level)).toEqual(['warn', 'warn', 'warn', 'warn', 'warn']);
    expect(ignored.map(({ fields }) => fields.tool).sort()).toEqual(['empty', 'http', 'long', 'number', 'spaces']);
    expect(JSON.stringify(ignored)).not.toContain('evil');
    // The same list says nothing new.
    await fleet.refresh('kb');
    expect(fleet.log.filter(({ message }) => message === 'view ignored')).toHaveLength(5);
  });
});
