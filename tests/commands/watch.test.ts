import { startFleet, tool } from '../flows/fleet.js';
import { ManualClock } from '../support/manual-clock.js';
import { respond } from '../support/raw-answers.js';
import { startSdkToolset } from '../support/sdk-toolset.js';
import { startProxy } from '../support/tcp-proxy.js';
import { until } from '../support/until.js';
import { run } from './run.js';

const asAdmin = { env: { MCP_AGENT_API_ADMIN_TOKEN: 'admin-token' } };

async function startWatched() {
  const kb = await startSdkToolset({ era: 'legacy', name: 'kb', tools: [tool('search', 'Old.')] });
  const fleet = await startFleet({ kb: kb.url });
  return { kb, fleet, proxy: await startProxy(Number(new URL(fleet.baseUrl).port)) };
}

/** The JSON lines so far, without the statuses. */
function eventsOf(lines: readonly string[]): { id: string; type: string; number?: number }[] {
  return lines.map((line) => JSON.parse(line)).filter(({ type }) => type !== 'status');
}

test('shows every toolset, then each change as it happens: the state, the round, the generation and the lines that differ', async () => {
  const { kb, fleet } = await startWatched();
  const command = run(['watch', fleet.baseUrl], asAdmin);
  await until(() => command.out.length >= 2);
  expect(command.out[0]).toMatch(/: generation 1, sha256-[0-9a-f]{64}$/);
  expect(command.out[1]).toMatch(/^ {2}kb {2}watching {2}1 tool, 2025-11-25, listed [0-9:.]{12}, announced no change yet$/);

  kb.setTools([tool('search', 'New\u200B.')]);
  await until(() => command.out.some((line) => line.includes('New')));
  const shown = command.out.join('\n');
  expect(shown).toMatch(/^[0-9:.]{12} swapped: the new tools are live; round \d+ \(notification, \d+ ms\), generation 2$/m);
  expect(shown).toMatch(/^[0-9:.]{12} generation 2 is live \(notification\)$/m);
  // The swap is told first, then the end of the generation that it retired, and each changed tool once.
  expect(command.out.filter((line) => line === '  ~ search')).toHaveLength(1);
  expect(shown.indexOf('generation 2 is live')).toBeLessThan(shown.indexOf('generation 1 has no runs left'));
  expect(shown).toMatch(/^ {2}search of kb \(text\)\n {4}description\n {4}- Old\.\n {4}\+ New⟨U\+200B⟩\.$/m);

  await kb.kill();
  await until(() => command.out.some((line) => /kb: .*→ failing TOOLSET_UNREACHABLE$/.test(line)), { timeoutMs: 15_000 });
  command.interrupt();
  expect(await command.ended).toBe(0);
});

test('shows of each toolset what its author needs whose change does not show', async () => {
  const kb = await startSdkToolset({ era: 'legacy', name: 'kb', tools: [tool('search', 'Old.'), tool('read', 'Old.')] });
  const less = await startSdkToolset({ era: 'stateless', name: 'less', tools: [tool('open', 'Old.')] });
  const down = await startSdkToolset({ era: 'legacy', name: 'down', tools: [tool('close', 'Old.')] });
  const fleet = await startFleet({ kb: kb.url, less: less.url, down: down.url });
  kb.setTools([tool('search', 'New.'), tool('read', 'Old.')]);
  await down.kill();
  await fleet.untilGeneration(2);
  await fleet.untilState('down', 'failing');
  fleet.index.answer(respond({ status: 503 }));
  await until(async () => (await fleet.status()).index.error !== null);
  const command = run(['watch', fleet.baseUrl], asAdmin);
  await until(() => command.out.length >= 5);
  expect(command.out.slice(1, 5)).toEqual([
    '  the index cannot be read: INDEX_UNREACHABLE: The index answered HTTP 503.',
    expect.stringMatching(/^ {2}down {2}failing {2}1 tool, .*listed [0-9:.]+, (next try [0-9:.]+, )?TOOLSET_UNREACHABLE: /),
    expect.stringMatching(/^ {2}kb {4}watching {2}2 tools, .*listed [0-9:.]+, announced a change [0-9:.]+$/),
    expect.stringMatching(/^ {2}less {2}polling {2}1 tool, .*listed [0-9:.]+, cannot announce changes(, next list [0-9:.]+)?$/),
  ]);
  command.interrupt();
  expect(await command.ended).toBe(0);
});

test('--json prints the status and then the events of the feed, one JSON object a line', async () => {
  const { kb, fleet } = await startWatched();
  const command = run(['watch', fleet.baseUrl, '--json'], asAdmin);
  await until(() => command.out.length === 1);
  expect(JSON.parse(command.out[0] ?? '')).toMatchObject({ type: 'status', status: { generation: 1, toolsets: [{ name: 'kb' }] } });
  kb.setTools([tool('search', 'New.')]);
  await until(() => eventsOf(command.out).some(({ type }) => type === 'generation'));
  expect(eventsOf(command.out)).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ type: 'round', outcome: 'swapped', changes: { added: [], removed: [], changed: ['search'] } }),
      expect.objectContaining({ type: 'generation', number: 2, previous: 1, swapped: ['kb'] }),
    ]),
  );
});

test.each(['fin', 'rst'] as const)(
  'goes on after a broken connection (%s) with what happened meanwhile, and shows nothing twice',
  async (how) => {
    const { kb, fleet, proxy } = await startWatched();
    const command = run(['watch', proxy.origin, '--json'], asAdmin);
    await until(() => command.out.length === 1);
    kb.setTools([tool('search', 'Two.')]);
    const generations = () => eventsOf(command.out).flatMap(({ number }) => number ?? []);
    await until(() => generations().includes(2));
    proxy.refuse(true);
    proxy.cut(how);
    await until(() => command.notes.length > 0);
    kb.setTools([tool('search', 'Three.')]);
    await fleet.untilGeneration(3);
    kb.setTools([tool('search', 'Four.')]);
    await fleet.untilGeneration(4);
    proxy.refuse(false);
    await until(() => generations().includes(4), { timeoutMs: 15_000 });
    expect(generations()).toEqual([2, 3, 4]);
    const ids = eventsOf(command.out).map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    // One line for one absence, however many tries it took.
    expect(command.notes).toEqual([expect.stringContaining('Connecting again.')]);
  },
);

test('a connection on which nothing comes any more, not even a sign of life, is opened again', async () => {
  const { kb, fleet, proxy } = await startWatched();
  const clock = new ManualClock();
  const command = run(['watch', proxy.origin, '--json'], { ...asAdmin, clock });
  await until(() => command.out.length === 1);
  kb.setTools([tool('search', 'Two.')]);
  await until(() => eventsOf(command.out).some(({ number }) => number === 2));
  proxy.blackHoleOpen('down');
  kb.setTools([tool('search', 'Three.')]);
  await fleet.untilGeneration(3);
  await clock.advance(45_000);
  await until(() => command.notes.length === 1);
  // The first try may meet another dead socket, which has ten seconds to answer.
  const seesThree = async () => {
    await clock.advance(50);
    return eventsOf(command.out).some(({ number }) => number === 3);
  };
  await until(seesThree, { timeoutMs: 20_000 });
});

test('ends with 1 where there is no service to follow, or no right to', async () => {
  const { fleet } = await startWatched();
  const nobody = run(['watch', 'http://127.0.0.1:9']);
  expect(await nobody.ended).toBe(1);
  expect(nobody.notes).toEqual([expect.stringContaining('cannot be reached')]);
  const index = run(['watch', new URL('/', fleet.index.url).href]);
  expect(await index.ended).toBe(1);
  expect(index.notes).toHaveLength(1);
});
