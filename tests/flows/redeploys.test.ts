import { runTurn } from '../support/run-client.js';
import { type SdkEra, startSdkToolset } from '../support/sdk-toolset.js';
import { stays, until } from '../support/until.js';
import { having, listsOf, startFleet, tool } from './fleet.js';

const ERAS: readonly SdkEra[] = ['legacy', 'stateless', 'modern', 'both'];

describe('a redeploy that tells nobody', () => {
  test.each(ERAS)('in order is found, and the new tools can be called (%s)', async (era) => {
    const deployed = await startSdkToolset({ era, tools: [tool('old', 'one')] });
    const other = await startSdkToolset({ era: 'legacy', tools: [tool('other', 'stays')] });
    const fleet = await startFleet({ deployed: deployed.url, other: other.url });
    const before = listsOf(other);

    await deployed.restart({ tools: [tool('new', 'two')] });
    await until(async () => 'new' in (await fleet.shown()), { what: 'the new tool to be shown' });
    expect(await fleet.shown()).toEqual({ new: 'two', other: 'stays' });
    fleet.model.reply(({ body }) =>
      body.messages.some(({ role }) => role === 'tool') ? { text: 'done' } : { toolCalls: [{ name: 'new', args: {} }] },
    );
    await runTurn(fleet.baseUrl, { text: 'Use it' });
    expect(deployed.calls.map((call) => call.tool)).toEqual(['new']);
    await fleet.untilState('deployed', era === 'stateless' ? 'polling' : 'watching');
    expect(listsOf(other)).toBe(before);
  });

  test.each(ERAS)('by a kill is found, and while the toolset is down the model sees what it saw (%s)', async (era) => {
    const deployed = await startSdkToolset({ era, tools: [tool('old', 'one')] });
    const fleet = await startFleet({ deployed: deployed.url });
    await deployed.kill();
    await fleet.untilState('deployed', 'failing');
    expect(await fleet.shown()).toEqual({ old: 'one' });
    expect(await fleet.readiness()).toEqual({ status: 200, body: { status: 'degraded', failing: ['deployed'] } });
    await deployed.restart({ tools: [tool('new', 'two')] });
    await until(async () => 'new' in (await fleet.shown()), { what: 'the new tool to be shown' });
    expect(await fleet.readiness()).toEqual({ status: 200, body: { status: 'ready' } });
  });

  test('that changes nothing keeps the very same agent', async () => {
    const deployed = await startSdkToolset({ era: 'legacy', tools: [tool('old', 'one')] });
    const fleet = await startFleet({ deployed: deployed.url });
    const agent = fleet.app.refresher.current?.agent;
    await deployed.restart();
    await until(() => fleet.rounds().some(({ trigger, outcome }) => trigger === 'reconnect' && outcome === 'unchanged'));
    await fleet.untilState('deployed', 'watching');
    expect(fleet.app.refresher.current?.agent).toBe(agent);
    expect(having(fleet.rounds(), 'swapped')).toHaveLength(1);
  });
});

describe('one failing toolset', () => {
  test("does not hide another's change, however long it is down", async () => {
    const down = await startSdkToolset({ era: 'legacy', tools: [tool('kept', 'last known')] });
    const up = await startSdkToolset({ era: 'modern', tools: [tool('a', 'one')] });
    const fleet = await startFleet({ down: down.url, up: up.url });
    await down.kill();
    await fleet.untilState('down', 'failing');
    const aborted = having(fleet.rounds(), 'aborted').length;
    for (const [count, description] of ['two', 'three', 'four'].entries()) {
      up.setTools([tool('a', description)]);
      await fleet.untilGeneration(count + 2);
      expect(await fleet.shown()).toEqual({ a: description, kept: 'last known' });
    }
    expect(having(fleet.rounds(), 'aborted')).toHaveLength(aborted);
    expect(fleet.log.filter(({ message }) => message === 'toolset failing')).toHaveLength(1);
  });

  test('cannot be reached by a call, which the model is told, and the run goes on', async () => {
    const down = await startSdkToolset({ era: 'legacy', tools: [tool('a', 'one')] });
    const fleet = await startFleet({ down: down.url });
    await down.kill();
    fleet.model.reply(({ body }) =>
      body.messages.some(({ role }) => role === 'tool') ? { text: 'it is down' } : { toolCalls: [{ name: 'a', args: {} }] },
    );
    const turn = await runTurn(fleet.baseUrl, { text: 'Use it' });
    expect(turn.text).toBe('it is down');
    expect(turn.events.at(-1)?.type).toBe('RUN_FINISHED');
    expect(JSON.stringify(fleet.model.requests.at(-1)?.body.messages.at(-1))).toContain('a');
    await stays(() => having(fleet.rounds(), 'swapped').length === 1, { durationMs: 100 });
  });
});
