import { assembleCatalog } from '../../src/core/catalog.js';
import { type Facts, type GenerationRecord, StoreFailure } from '../../src/core/facts.js';
import { recordGeneration } from '../../src/core/generation-record.js';
import type { RoundRecord } from '../../src/core/status.js';
import { GenerationLog } from '../../src/refresh/generation-log.js';
import { MemoryFacts } from '../../src/store/memory-facts.js';
import { snapshotOf } from '../core/round-driver.js';
import { ManualClock, settle } from '../support/manual-clock.js';

/** Facts in memory that can be made to fail or to hang. */
class MoodyFacts extends MemoryFacts {
  mood: 'well' | 'failing' | 'hanging' = 'well';

  override async nextGeneration(above: number): Promise<number> {
    await this.#pass();
    return super.nextGeneration(above);
  }

  override async saveGeneration(record: GenerationRecord): Promise<void> {
    await this.#pass();
    return super.saveGeneration(record);
  }

  async #pass(): Promise<void> {
    if (this.mood === 'failing') throw new StoreFailure('store_unavailable', 'away');
    if (this.mood === 'hanging') await new Promise(() => undefined);
  }
}

function startLog(facts: Facts | undefined) {
  const clock = new ManualClock();
  const messages: string[] = [];
  const nothing = () => undefined;
  const logger = { debug: nothing, info: nothing, error: nothing, warn: (message: string) => void messages.push(message) };
  return { clock, messages, log: new GenerationLog({ facts, clock, logger }) };
}

const ROUND: RoundRecord = {
  round: 1,
  outcome: 'swapped',
  trigger: 'poll',
  at: '2026-01-01T00:00:00.000Z',
  durationMs: 1,
  generation: 1,
  toolsets: { listed: ['kb'], swapped: ['kb'], held: [], late: [], failing: [] },
  changes: { added: ['kb_tool'], removed: [], changed: [] },
  error: null,
};

function recordOf(number: number): GenerationRecord {
  const catalog = assembleCatalog([snapshotOf('kb', 'v1')]);
  const generation = { number, agent: {}, catalog, fingerprint: catalog.fingerprint, builtAt: new Date(0) };
  return recordGeneration({ generation, before: null, round: ROUND, instance: 'one' });
}

test('without a store numbers rise from 1', async () => {
  const { log, clock } = startLog(undefined);
  expect([await log.next(), await log.next()]).toEqual([1, 2]);
  log.add(() => recordOf(1));
  expect(clock.pending).toBe(0);
});

test('while the store fails, numbers go on from the last known one, and afterwards stay above them', async () => {
  const facts = new MoodyFacts();
  const { log, messages } = startLog(facts);
  for (let others = 0; others < 6; others++) await facts.nextGeneration(0);
  expect(await log.next()).toBe(7);
  facts.mood = 'failing';
  expect([await log.next(), await log.next()]).toEqual([8, 9]);
  expect(messages).toContain('generation not numbered by the store');
  facts.mood = 'well';
  expect(await log.next()).toBe(10);
});

test('a store that hangs holds a swap up for one second', async () => {
  const facts = new MoodyFacts();
  const { log, clock } = startLog(facts);
  facts.mood = 'hanging';
  const numbers: number[] = [];
  void log.next().then((number) => numbers.push(number));
  await clock.advance(999);
  expect(numbers).toEqual([]);
  await clock.advance(1);
  expect(numbers).toEqual([1]);
});

test('records that could not be written are written later, in their order', async () => {
  const facts = new MoodyFacts();
  const { log, clock, messages } = startLog(facts);
  facts.mood = 'failing';
  for (const number of [1, 2, 3]) log.add(() => recordOf(number));
  await settle();
  expect(await facts.generations(10)).toEqual([]);
  expect(messages).toEqual(['generation not recorded yet']);
  facts.mood = 'well';
  await clock.advance(5_000);
  expect((await facts.generations(10)).map(({ number }) => number)).toEqual([3, 2, 1]);
  await log.stop();
  expect(clock.pending).toBe(0);
});

test('a record names what changed, with the whole definitions before and after', () => {
  const before = assembleCatalog([snapshotOf('kb', 'v1'), snapshotOf('web', 'v1')]);
  const catalog = assembleCatalog([snapshotOf('kb', 'v2'), snapshotOf('new', 'v1')]);
  const generation = { number: 4, agent: {}, catalog, fingerprint: catalog.fingerprint, builtAt: new Date(0) };
  const changes = { added: ['new_tool'], removed: ['web_tool'], changed: ['kb_tool'] };
  const record = recordGeneration({ generation, before, round: { ...ROUND, changes }, instance: 'one' });
  expect(record).toMatchObject({ number: 4, instance: 'one', trigger: 'poll', at: '1970-01-01T00:00:00.000Z', changes, omitted: 0 });
  expect(record.toolsets.map(({ name, tools }) => [name, tools])).toEqual([
    ['kb', 1],
    ['new', 1],
  ]);
  expect(record.tools).toMatchObject([
    { name: 'kb_tool', toolset: 'kb', change: 'changed', before: { description: 'v1' }, after: { description: 'v2' } },
    { name: 'new_tool', toolset: 'new', change: 'added', before: null, after: { description: 'v1' } },
    { name: 'web_tool', toolset: 'web', change: 'removed', before: { description: 'v1' }, after: null },
  ]);
});

test('definitions that would make a record larger than a megabyte are left out and counted', () => {
  const names = Array.from({ length: 30 }, (_, number) => `toolset${number}`);
  const large = assembleCatalog(names.map((name) => snapshotOf(name, 'x'.repeat(60_000))));
  const generation = { number: 1, agent: {}, catalog: large, fingerprint: large.fingerprint, builtAt: new Date(0) };
  const changes = { added: names.map((name) => `${name}_tool`), removed: [], changed: [] };
  const record = recordGeneration({ generation, before: null, round: { ...ROUND, changes }, instance: 'one' });
  expect([record.changes.added.length, record.tools.length, record.omitted]).toEqual([30, 17, 13]);
  expect(JSON.stringify(record).length).toBeLessThan(1.1 * 1024 * 1024);
});
