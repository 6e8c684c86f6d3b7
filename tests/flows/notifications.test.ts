import { gate } from '../support/gate.js';
import { held } from '../support/raw-answers.js';
import { startRawToolset } from '../support/raw-toolset.js';
import { type SdkEra, startSdkToolset } from '../support/sdk-toolset.js';
import { stays, until } from '../support/until.js';
import { having, listsOf, startFleet, tool } from './fleet.js';

const PUSHING: readonly SdkEra[] = ['legacy', 'modern', 'both'];

describe('a notification', () => {
  test.each(PUSHING)('becomes a generation that the next run shows the model, at the cost of one list (%s)', async (era) => {
    const changing = await startSdkToolset({ era, tools: [tool('search', 'Searches the manual')] });
    const quiet = await startSdkToolset({ era: 'legacy', tools: [tool('place', 'Finds a place')] });
    const fleet = await startFleet({ changing: changing.url, quiet: quiet.url });
    expect(await fleet.shown()).toEqual({ search: 'Searches the manual', place: 'Finds a place' });
    const before = { changing: listsOf(changing), quiet: listsOf(quiet) };

    changing.setTools([tool('search', 'Searches the manual and the announcements'), tool('count', 'Counts pages')]);
    await fleet.untilGeneration(2);
    expect(await fleet.shown()).toEqual({
      search: 'Searches the manual and the announcements',
      count: 'Counts pages',
      place: 'Finds a place',
    });
    expect(fleet.rounds().at(-1)).toMatchObject({
      outcome: 'swapped',
      trigger: 'notification',
      generation: 2,
      toolsets: { listed: ['changing'], swapped: ['changing'] },
      changes: { added: ['count'], removed: [], changed: ['search'] },
    });
    // A list that showed a change needs no second look.
    await stays(() => listsOf(changing) === before.changing + 1 && listsOf(quiet) === before.quiet, { durationMs: 1_500 });
  });

  test('repeated twenty times by two toolsets opens one round, which lists each of them once', async () => {
    const [one, two] = [
      await startSdkToolset({ era: 'legacy', tools: [tool('a', 'one')] }),
      await startSdkToolset({ era: 'modern', tools: [tool('b', 'one')] }),
    ];
    const fleet = await startFleet({ one: one.url, two: two.url }, { env: { MCP_AGENT_API_DEBOUNCE_MS: '400' } });
    const before = { rounds: fleet.rounds().length, one: listsOf(one), two: listsOf(two) };
    one.setTools([tool('a', 'two')], { notify: false });
    two.setTools([tool('b', 'two')], { notify: false });
    for (let times = 0; times < 20; times++) {
      one.notify();
      two.notify();
    }
    await fleet.untilGeneration(2);
    expect(await fleet.shown()).toEqual({ a: 'two', b: 'two' });
    await stays(() => fleet.rounds().length === before.rounds + 1, { durationMs: 1_000 });
    expect(fleet.rounds().at(-1)?.toolsets.swapped).toEqual(['one', 'two']);
    expect([listsOf(one), listsOf(two)]).toEqual([before.one + 1, before.two + 1]);
  });

  test('of a change and of its opposite, close together, is silence: the very same agent stays', async () => {
    const toolset = await startSdkToolset({ era: 'legacy', tools: [tool('a', 'one')] });
    const fleet = await startFleet({ toolset: toolset.url }, { env: { MCP_AGENT_API_DEBOUNCE_MS: '400' } });
    const agent = fleet.app.refresher.current?.agent;
    toolset.setTools([tool('a', 'two')]);
    toolset.setTools([tool('a', 'one')]);
    await until(() => having(fleet.rounds(), 'unchanged').length > 0);
    expect(fleet.app.refresher.current?.agent).toBe(agent);
    expect(having(fleet.rounds(), 'swapped')).toHaveLength(1);
  });

  test('without any change keeps the very same agent, and is followed by exactly one more look', async () => {
    const toolset = await startSdkToolset({ era: 'modern', tools: [tool('a', 'one')] });
    const fleet = await startFleet({ toolset: toolset.url });
    const agent = fleet.app.refresher.current?.agent;
    const before = listsOf(toolset);
    toolset.notify();
    await until(() => having(fleet.rounds(), 'unchanged').length === 2);
    await stays(() => listsOf(toolset) === before + 2, { durationMs: 1_500 });
    expect(fleet.app.refresher.current?.agent).toBe(agent);
  });

  test('that comes before the change itself is not lost', async () => {
    const toolset = await startSdkToolset({ era: 'legacy', tools: [tool('a', 'one')] });
    const fleet = await startFleet({ toolset: toolset.url });
    toolset.notify();
    await until(() => having(fleet.rounds(), 'unchanged').length === 1);
    toolset.setTools([tool('a', 'two')], { notify: false });
    await fleet.untilGeneration(2);
    expect(await fleet.shown()).toEqual({ a: 'two' });
  });

  test('that arrives during a list causes another list', async () => {
    const toolset = await startRawToolset({ tools: [tool('a', 'one')] });
    const fleet = await startFleet({ toolset: toolset.url });
    const barrier = gate();
    toolset.once('tools/list', held(barrier));
    toolset.tools = [tool('a', 'two')];
    toolset.push();
    await until(() => barrier.waiting() === 1);
    toolset.tools = [tool('a', 'three')];
    const pushedAt = Date.now();
    toolset.push();
    // The first notification came at least one debounce before this one, so the later time is that of the second.
    await until(async () => Date.parse((await fleet.toolset('toolset')).notifiedAt ?? '') > pushedAt - 50, { what: 'the second signal' });
    barrier.open();
    await until(async () => (await fleet.shown()).a === 'three');
    expect(having(fleet.rounds(), 'aborted')).toEqual([]);
  });

  test("that arrives on a tool call's own answer is a signal like any other", async () => {
    const quietly = { notify: false };
    const toolset = await startSdkToolset({
      era: 'stateless',
      tools: [
        {
          ...tool('grow', 'one'),
          run: async (_args, { notify }) => {
            toolset.setTools([tool('grow', 'two')], quietly);
            await notify('notifications/tools/list_changed');
            return 'grown';
          },
        },
      ],
    });
    const fleet = await startFleet({ toolset: toolset.url }, { env: { MCP_AGENT_API_POLLING_SECONDS: '600' } });
    fleet.model.reply(({ body }) =>
      body.messages.some(({ role }) => role === 'tool') ? { text: 'done' } : { toolCalls: [{ name: 'grow', args: {} }] },
    );
    await fleet.shown();
    await fleet.untilGeneration(2);
    expect(await fleet.shown()).toEqual({ grow: 'two' });
  });
});

describe('the safety poll', () => {
  test('finds a change that was not announced, counts it as missed, and opens the subscription anew', async () => {
    const toolset = await startSdkToolset({ era: 'legacy', tools: [tool('a', 'one')] });
    const fleet = await startFleet({ toolset: toolset.url }, { env: { MCP_AGENT_API_REFRESH_SECONDS: '1' } });
    const streams = toolset.counts().GET ?? 0;
    toolset.setTools([tool('a', 'two')], { notify: false });
    await fleet.untilGeneration(2);
    expect(await fleet.shown()).toEqual({ a: 'two' });
    expect(having(fleet.rounds(), 'swapped').at(-1)?.trigger).toBe('poll');
    await until(async () => (await fleet.toolset('toolset')).missedSignals === 1);
    expect(fleet.log).toContainEqual({ level: 'warn', message: 'signal missed', fields: { toolset: 'toolset', missedSignals: 1 } });
    await until(() => (toolset.counts().GET ?? 0) === streams + 1);
    await fleet.untilState('toolset', 'watching');
  });

  test('is off with 0, and then notifications still refresh', async () => {
    const silent = await startSdkToolset({ era: 'stateless', tools: [tool('a', 'one')] });
    const pushing = await startSdkToolset({ era: 'legacy', tools: [tool('b', 'one')] });
    const fleet = await startFleet(
      { silent: silent.url, pushing: pushing.url },
      { env: { MCP_AGENT_API_REFRESH_SECONDS: '0', MCP_AGENT_API_POLLING_SECONDS: '0.1' } },
    );
    const before = { silent: listsOf(silent), pushing: listsOf(pushing) };
    silent.setTools([tool('a', 'two')]);
    await stays(() => listsOf(silent) === before.silent && listsOf(pushing) === before.pushing, { durationMs: 1_000 });
    pushing.setTools([tool('b', 'two')]);
    await fleet.untilGeneration(2);
    expect(await fleet.shown()).toEqual({ a: 'one', b: 'two' });
    expect(await fleet.status()).toMatchObject({ everySeconds: 0, nextPollAt: null });
  });
});
