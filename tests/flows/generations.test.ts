import type { GenerationReport } from '../../src/core/change-report.js';
import { sqliteLocation } from '../store/open.js';
import { startSdkToolset } from '../support/sdk-toolset.js';
import { until } from '../support/until.js';
import { type Fleet, startFleet, tool } from './fleet.js';

interface Line {
  readonly number: number;
  readonly instance: string;
}

async function get<T>(fleet: Fleet, path: string): Promise<T> {
  const response = await fetch(fleet.baseUrl + path);
  if (response.status !== 200) throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
  return (await response.json()) as T;
}

const numbersOf = async (fleet: Fleet) =>
  (await get<{ generations: Line[] }>(fleet, '/generations')).generations.map(({ number }) => number);

test('the history says when, why and what changed, newest first, and begins at once', async () => {
  const kb = await startSdkToolset({ era: 'legacy', tools: [tool('search', 'v1')] });
  const fleet = await startFleet({ kb: kb.url });
  kb.setTools([tool('search', 'v2')]);
  await fleet.untilGeneration(2);
  const { instance, fingerprint } = await fleet.status();
  expect(await get(fleet, '/generations')).toEqual({
    generations: [
      {
        number: 2,
        at: expect.any(String),
        trigger: 'notification',
        fingerprint,
        instance,
        swapped: ['kb'],
        changes: { added: [], removed: [], changed: ['search'] },
      },
      expect.objectContaining({ number: 1, trigger: 'start', changes: { added: ['search'], removed: [], changed: [] } }),
    ],
    decisions: [],
  });
});

test('a generation has the whole definitions of what it changed, and hidden characters can be seen', async () => {
  const old = { ...tool('search', 'Searches\nthe\nguide'), title: 'Search' };
  const kb = await startSdkToolset({ era: 'legacy', tools: [old, tool('gone', 'goes'), tool('same', 'stays')] });
  const fleet = await startFleet({ kb: kb.url });
  const hidden = { ...old, description: 'Searches\nthe\u202E\u{E0041}\nguide' };
  kb.setTools([hidden, tool('come', 'comes'), tool('same', 'stays')]);
  await fleet.untilGeneration(2);
  const { tools, omitted } = await get<GenerationReport>(fleet, '/generations/2');
  expect(omitted).toBe(0);
  expect(tools.map(({ name, change, classes }) => [name, change, classes])).toEqual([
    ['search', 'changed', ['text']],
    ['come', 'added', ['added']],
    ['gone', 'removed', []],
  ]);
  expect(tools[0]?.after).toMatchObject(hidden);
  expect(tools[0]?.before).toMatchObject(old);
  expect(tools[0]?.diff).toEqual([
    {
      field: 'description',
      lines: [
        { kind: 'same', text: 'Searches' },
        { kind: 'removed', text: 'the' },
        { kind: 'added', text: 'the⟨U+202E⟩⟨U+E0041⟩' },
        { kind: 'same', text: 'guide' },
      ],
    },
  ]);
});

test('the history outlives the process where the store does', async () => {
  const kb = await startSdkToolset({ era: 'legacy', tools: [tool('search', 'v1')] });
  const env = { MCP_AGENT_CHECKPOINT: await sqliteLocation() };
  const first = await startFleet({ kb: kb.url }, { env });
  kb.setTools([tool('search', 'v2')]);
  await first.untilGeneration(2);
  await first.app.stop();
  const second = await startFleet({ kb: kb.url }, { env });
  expect(await numbersOf(second)).toEqual([3, 2, 1]);
  expect((await get<GenerationReport>(second, '/generations/2')).tools).toHaveLength(1);
});

test('fifty generations are listed, however many there were', async () => {
  const kb = await startSdkToolset({ era: 'legacy', tools: [tool('search', 'v1')] });
  const fleet = await startFleet({ kb: kb.url });
  for (let number = 2; number <= 55; number += 1) {
    kb.setTools([tool('search', `v${number}`)], { notify: false });
    await fleet.refresh('kb');
  }
  await until(async () => (await numbersOf(fleet))[0] === 55, { what: 'generation 55' });
  expect(await numbersOf(fleet)).toEqual(Array.from({ length: 50 }, (_, index) => 55 - index));
});
