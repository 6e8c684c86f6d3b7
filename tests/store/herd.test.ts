import type { ReplicaEvents } from '../../src/core/replicas.js';
import { ToolsetRefresher } from '../../src/refresh/refresher.js';
import { PostgresReplicaLink } from '../../src/store/postgres-link.js';
import type { Sql } from '../../src/store/sql.js';
import { listsOf, tool } from '../flows/fleet.js';
import { onCleanup } from '../support/cleanup.js';
import { startIndex } from '../support/index-server.js';
import { ManualClock, settle } from '../support/manual-clock.js';
import { type SdkToolset, startSdkToolset } from '../support/sdk-toolset.js';
import { stays, until } from '../support/until.js';
import { openTestStore } from './open.js';
import { type PostgresServer, startPostgres } from './postgres-server.js';

let postgres: PostgresServer;

beforeAll(async () => {
  postgres = await startPostgres();
}, 60_000);

const REPLICAS = 10;

/** Ten replicas on one database that watch the same toolsets, in one process. No poll comes unless a test asks for it. */
async function startReplicas(toolsets: Readonly<Record<string, SdkToolset>>) {
  const location = await postgres.createDatabase();
  const index = await startIndex(Object.fromEntries(Object.entries(toolsets).map(([name, { url }]) => [name, url])));
  return Promise.all(
    Array.from({ length: REPLICAS }, async (_, number) => {
      const instance = `replica-${number}`;
      const { facts, link } = await openTestStore(location, { instance });
      const settings = { everySeconds: 3_600, pollingSeconds: 3_600, indexSeconds: 3_600, debounceMs: 20 };
      const refresher = new ToolsetRefresher({ url: index.url, build: () => ({}), ...settings, instance, facts, link });
      onCleanup(() => refresher.stop());
      await refresher.start();
      return refresher;
    }),
  );
}

test('a change that one of ten replicas finds costs one list per replica, and numbers stay unique', async () => {
  const toolset = await startSdkToolset({ era: 'stateless', tools: [tool('search', 'one')] });
  const other = await startSdkToolset({ era: 'stateless', tools: [tool('find', 'one')] });
  const replicas = await startReplicas({ kb: toolset, web: other });
  const [first] = replicas;
  const before = [listsOf(toolset), listsOf(other)] as const;
  toolset.setTools([tool('search', 'changed')]);
  await first?.refresh({ toolset: 'kb' });
  const fingerprint = first?.current?.fingerprint;
  await until(() => replicas.every(({ current }) => current?.fingerprint === fingerprint));
  await stays(() => listsOf(toolset) - before[0] <= REPLICAS, { durationMs: 2_500 });
  expect([listsOf(toolset) - before[0], listsOf(other) - before[1]]).toEqual([REPLICAS, 0]);
  const triggers = replicas.map((replica) => replica.status().last?.trigger);
  expect(triggers).toEqual(replicas.map((_, number) => (number === 0 ? 'manual' : 'replica')));
  const numbers = replicas.map(({ current }) => current?.number);
  expect(new Set(numbers).size).toBe(REPLICAS);
  expect(first?.status().replicas.map(({ instance }) => instance)).toEqual(replicas.map((_, number) => `replica-${number}`));
});

test('a change that a notification announces costs one list per replica and no hint, because each of them hears it itself', async () => {
  const toolset = await startSdkToolset({ era: 'modern', tools: [tool('search', 'one')] });
  const replicas = await startReplicas({ kb: toolset });
  await until(() => replicas.every((replica) => replica.status().toolsets.every(({ state }) => state === 'watching')));
  await until(() =>
    replicas.every((replica) => replica.status().toolsets.every(({ nextListAt }) => Date.parse(nextListAt ?? '') > Date.now() + 5_000)),
  );
  const before = listsOf(toolset);
  toolset.setTools([tool('search', 'changed')]);
  await until(() => replicas.every((replica) => replica.status().last?.changes.changed.includes('search')));
  await stays(() => listsOf(toolset) - before <= REPLICAS, { durationMs: 2_500 });
  expect(listsOf(toolset) - before).toBe(REPLICAS);
  expect(replicas.map((replica) => replica.status().last?.trigger)).toEqual(replicas.map(() => 'notification'));
});

describe('what replicas serve', () => {
  const FINGERPRINTS = ['sha256-a', 'sha256-b'] as const;

  /** Two links over one clock, whose messages reach each other at once; the table stays empty. */
  function twoLinks() {
    const clock = new ManualClock();
    const log: { message: string; fields: Record<string, unknown> | undefined }[] = [];
    const nothing = () => undefined;
    const logger = {
      debug: nothing,
      info: nothing,
      error: nothing,
      warn: (message: string, fields?: Record<string, unknown>) => void log.push({ message, fields }),
    };
    const links: PostgresReplicaLink[] = [];
    const sql: Sql = {
      rows: async (text, parameters = []) => {
        if (text.includes('pg_notify')) for (const link of links) link.receive(String(parameters[1]));
        return [];
      },
    };
    const events: ReplicaEvents = { hint: nothing, reconnected: nothing };
    for (const instance of ['one', 'two']) links.push(new PostgresReplicaLink({ sql, clock, logger, instance }));
    for (const link of links) link.listen(events);
    return { clock, log, links: links as [PostgresReplicaLink, PostgresReplicaLink] };
  }

  test('replicas that differ for longer than a minute are reported once, until they agree', async () => {
    const { clock, log, links } = twoLinks();
    const [one, two] = links;
    one.serve({ generation: 1, fingerprint: FINGERPRINTS[0] });
    two.serve({ generation: 2, fingerprint: FINGERPRINTS[1] });
    const again = async (ms: number) => {
      // Each says from time to time what it serves; else the other would take it for gone.
      for (let passed = 0; passed < ms; passed += 10_000) {
        await clock.advance(10_000);
        one.serve({ generation: 1, fingerprint: FINGERPRINTS[0] });
        two.serve({ generation: 2, fingerprint: FINGERPRINTS[1] });
        await settle();
      }
    };
    await again(50_000);
    expect([one.differSince, log]).toEqual([null, []]);
    await again(60_000);
    expect(one.differSince).toBe('2026-01-01T00:00:00.000Z');
    const reports = log.filter(({ message }) => message === 'replicas differ');
    expect(reports).toHaveLength(2);
    expect(reports[0]?.fields?.replicas).toMatchObject([
      { instance: 'one', generation: 1, fingerprint: FINGERPRINTS[0] },
      { instance: 'two', generation: 2, fingerprint: FINGERPRINTS[1] },
    ]);
    two.serve({ generation: 3, fingerprint: FINGERPRINTS[0] });
    await settle();
    expect([one.differSince, two.differSince]).toEqual([null, null]);
  });

  test('a replica that is not heard of any more is not shown, and does not count as different', async () => {
    const { clock, links } = twoLinks();
    const [one, two] = links;
    one.serve({ generation: 1, fingerprint: FINGERPRINTS[0] });
    two.serve({ generation: 2, fingerprint: FINGERPRINTS[1] });
    await settle();
    expect(one.replicas()).toHaveLength(2);
    await clock.advance(120_000);
    expect(one.replicas().map(({ instance }) => instance)).toEqual(['one']);
    expect(one.differSince).toBeNull();
  });

  test('what others say on the channel is ignored', () => {
    const { links } = twoLinks();
    for (const payload of ['', 'hello', '{}', '{"kind":"hint"}', '{"kind":"serving","id":1}', '[]', 'null']) links[0].receive(payload);
    expect(links[0].replicas()).toHaveLength(1);
  });
});
