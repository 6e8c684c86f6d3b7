import { assembleCatalog, type Catalog } from '../../src/core/catalog.js';
import type { Hint, ReplicaEvents, ReplicaLink } from '../../src/core/replicas.js';
import { ReplicaHints } from '../../src/refresh/replica-hints.js';
import { snapshotOf } from '../core/round-driver.js';
import { ManualClock } from '../support/manual-clock.js';

function startHints() {
  const clock = new ManualClock();
  const sent: unknown[] = [];
  const due: { toolset: string; at: number }[] = [];
  let events: ReplicaEvents | undefined;
  let live: Catalog = assembleCatalog([snapshotOf('kb', 'v1'), snapshotOf('web', 'v1')]);
  const link: ReplicaLink = {
    listen: (heard) => {
      events = heard;
    },
    hint: (hint) => void sent.push(hint),
    serve: (serving) => void sent.push(serving),
    replicas: () => [],
    differSince: null,
  };
  const nothing = () => undefined;
  const hints = new ReplicaHints({
    link,
    clock,
    logger: { debug: nothing, info: nothing, warn: nothing, error: nothing },
    names: () => ['kb', 'web'],
    live: () => live,
    makeDue: (toolset) => void due.push({ toolset, at: clock.now() }),
  });
  hints.start();
  return {
    clock,
    sent,
    due,
    hints,
    hear: (hint: Omit<Hint, 'instance'>) => events?.hint({ ...hint, instance: 'other' }),
    reconnect: () => events?.reconnected(),
    serve: (catalog: Catalog) => {
      live = catalog;
    },
  };
}

const V2 = snapshotOf('kb', 'v2').fingerprint;

test('a hint makes its toolset due within two seconds, once', async () => {
  const { clock, due, hear } = startHints();
  hear({ toolset: 'kb', fingerprint: V2 });
  hear({ toolset: 'kb', fingerprint: V2 });
  expect(due).toEqual([]);
  await clock.advance(2_000);
  expect(due).toEqual([{ toolset: 'kb', at: expect.any(Number) }]);
  expect(due[0]?.at).toBeGreaterThan(0);
});

test('who serves the fingerprint already, or does not know the toolset, ignores the hint', async () => {
  const { clock, due, hear } = startHints();
  hear({ toolset: 'kb', fingerprint: snapshotOf('kb', 'v1').fingerprint });
  hear({ toolset: 'unknown', fingerprint: V2 });
  expect(clock.pending).toBe(0);
  await clock.advance(2_000);
  expect(due).toEqual([]);
});

test('a hint whose change came by another way meanwhile costs no list', async () => {
  const { clock, due, hear, serve } = startHints();
  hear({ toolset: 'kb', fingerprint: V2 });
  serve(assembleCatalog([snapshotOf('kb', 'v2')]));
  await clock.advance(2_000);
  expect(due).toEqual([]);
});

test('after a lost connection every toolset is due once, each at a moment of its own', async () => {
  const { clock, due, reconnect } = startHints();
  reconnect();
  await clock.advance(2_000);
  expect(due.map(({ toolset }) => toolset).sort()).toEqual(['kb', 'web']);
  expect(due[0]?.at).not.toBe(due[1]?.at);
});

test('a swap says what is served now, and hints only at what others may not know', () => {
  const { sent, hints } = startHints();
  const catalog = assembleCatalog([snapshotOf('kb', 'v2'), snapshotOf('web', 'v2')]);
  hints.swapped({ number: 3, agent: {}, catalog, fingerprint: catalog.fingerprint, builtAt: new Date(0) }, ['kb']);
  expect(sent).toEqual([
    { generation: 3, fingerprint: catalog.fingerprint },
    { toolset: 'kb', fingerprint: V2 },
  ]);
});

test('nothing is waited for after the end', () => {
  const { clock, hear, hints } = startHints();
  hear({ toolset: 'kb', fingerprint: V2 });
  hints.stop();
  expect(clock.pending).toBe(0);
});
