import { getView, page, viewTool } from '../field/view-kit.js';
import { gate } from '../support/gate.js';
import { held } from '../support/raw-answers.js';
import { startRawToolset } from '../support/raw-toolset.js';
import { beginTurn, type RunEvent, runTurn, runVerifiedTurn } from '../support/run-client.js';
import { type SdkEra, startSdkToolset } from '../support/sdk-toolset.js';
import { until } from '../support/until.js';
import { type Fleet, startFleet } from './fleet.js';

const URI = 'ui://kb/app.html';
const RESULT = { structuredContent: { found: 3 }, content: [{ type: 'text', text: '3 found' }] };
const LOOK = { ...viewTool('look', { ui: { resourceUri: URI } }), run: () => RESULT };

/** Lets the model call these tools at once, and then say "done". */
function callTools(fleet: Fleet, names: readonly string[]): void {
  fleet.model.reply(({ body }) =>
    body.messages.at(-1)?.role === 'tool' ? { text: 'done' } : { toolCalls: names.map((name) => ({ name, args: {} })) },
  );
}

function activitiesOf(events: readonly RunEvent[]) {
  return events
    .filter(({ type }) => type === 'ACTIVITY_SNAPSHOT')
    .map(({ activityType, content }) => ({ activityType, content: content as Record<string, unknown> }));
}

test.each<SdkEra>(['legacy', 'modern'])('a result of a tool with a view is followed by the view that shows it (%s)', async (era) => {
  const kb = await startSdkToolset({
    era,
    tools: [LOOK, { ...viewTool('plain', {}), run: () => 'plain' }],
    resources: [{ uri: URI, text: page('one') }],
  });
  const fleet = await startFleet({ kb: kb.url });
  callTools(fleet, ['look']);
  // AG-UI's own client checks the order and the form of the events.
  const { events, text } = await runVerifiedTurn(fleet.baseUrl, { text: 'Look' });
  expect(text).toBe('done');
  const result = events.findIndex(({ type }) => type === 'TOOL_CALL_RESULT');
  expect(events[result + 1]?.type).toBe('ACTIVITY_SNAPSHOT');
  const { hash } = await getView(fleet, 'kb/app.html');
  expect(activitiesOf(events)).toEqual([
    {
      activityType: 'mcp.view',
      content: { toolCallId: events[result]?.toolCallId, toolset: 'kb', tool: 'look', uri: URI, hash, structuredContent: { found: 3 } },
    },
  ]);
  // The thread goes on, and the model is told nothing of views.
  expect((await runTurn(fleet.baseUrl, { text: 'And now?' })).status).toBe(200);
  expect(JSON.stringify(fleet.model.requests.map(({ body }) => body.messages))).not.toContain('ui://');
  callTools(fleet, ['plain']);
  expect(activitiesOf((await runTurn(fleet.baseUrl, { text: 'Plain' })).events)).toEqual([]);
});

test('each of several calls names the content of its own time, which stays available by its hash', async () => {
  const barrier = gate();
  let calls = 0;
  const look = {
    ...LOOK,
    run: async () => {
      calls += 1;
      if (calls === 2) await barrier.pass();
      return RESULT;
    },
  };
  const kb = await startSdkToolset({ era: 'legacy', tools: [look], resources: [{ uri: URI, text: page('one') }] });
  const fleet = await startFleet({ kb: kb.url });
  fleet.model.reply(({ body }) =>
    body.messages.filter(({ role }) => role === 'tool').length === 2 ? { text: 'done' } : { toolCalls: [{ name: 'look', args: {} }] },
  );
  const turn = await beginTurn(fleet.baseUrl, { text: 'Look twice' });
  await until(() => barrier.waiting() === 1);
  kb.setResources([{ uri: URI, text: page('two') }]);
  await until(async () => (await getView(fleet, 'kb/app.html')).text === page('two'));
  barrier.open();
  const hashes = activitiesOf((await turn.done).events).map(({ content }) => content.hash);
  expect(new Set(hashes).size).toBe(2);
  const texts = await Promise.all(hashes.map(async (hash) => (await getView(fleet, `kb/app.html?hash=${hash}`)).text));
  expect(texts).toEqual([page('one'), page('two')]);
});

test('a view that cannot be read delays the first run by two seconds at most and later ones not at all', async () => {
  const kb = await startRawToolset({
    tools: [viewTool('look', { ui: { resourceUri: URI } })],
    resources: [{ uri: URI, text: page('one') }],
  });
  const barrier = gate();
  kb.on('resources/read', held(barrier));
  const fleet = await startFleet({ kb: kb.url });
  callTools(fleet, ['look']);
  const timed = async () => {
    const at = performance.now();
    const { events } = await runTurn(fleet.baseUrl, { text: 'Look' });
    return { ms: performance.now() - at, events, hashes: activitiesOf(events).map(({ content }) => content.hash) };
  };
  const first = await timed();
  expect(first.hashes).toEqual([null]);
  expect(first.ms).toBeGreaterThan(1_900);
  const second = await timed();
  expect(second.hashes).toEqual([null]);
  expect(second.ms).toBeLessThan(1_500);
  expect(second.events.at(-1)?.type).toBe('RUN_FINISHED');
  expect(kb.counts()['resources/read']).toBe(1);
  barrier.open();
  await until(async () => (await timed()).hashes[0] !== null);
});

test('a client that leaves while a view is read for the first time ends its run at once', async () => {
  const kb = await startRawToolset({ tools: [viewTool('look', { ui: { resourceUri: URI } })] });
  kb.on('resources/read', held(gate()));
  const fleet = await startFleet({ kb: kb.url });
  callTools(fleet, ['look']);
  const turn = await beginTurn(fleet.baseUrl, { text: 'Look' });
  turn.done.catch(() => undefined);
  await until(() => turn.events.some(({ type }) => type === 'TOOL_CALL_RESULT'));
  const at = performance.now();
  turn.leave();
  await until(() => fleet.log.some(({ message }) => message === 'run cancelled'));
  expect(performance.now() - at).toBeLessThan(1_500);
});

test('a tool that only its view may call is not shown to the model, and its view is served', async () => {
  const kb = await startSdkToolset({
    era: 'legacy',
    tools: [LOOK, viewTool('internal', { ui: { resourceUri: 'ui://kb/internal', visibility: ['app'] } })],
    resources: [{ uri: 'ui://kb/internal', text: page('internal') }],
  });
  const fleet = await startFleet({ kb: kb.url });
  expect(Object.keys(await fleet.shown())).toEqual(['look']);
  expect((await getView(fleet, 'kb/internal')).text).toBe(page('internal'));
});
