import { listsOf, startFleet, tool } from '../flows/fleet.js';
import { type Answer, delayed, pass, respond } from '../support/raw-answers.js';
import { type RawToolset, startRawToolset } from '../support/raw-toolset.js';
import { startProxy } from '../support/tcp-proxy.js';
import { stays, until } from '../support/until.js';
import { fastClock } from './fast-clock.js';

const NO_POLL = { MCP_AGENT_API_REFRESH_SECONDS: '0', MCP_AGENT_API_DEBOUNCE_MS: '20' };
const PER_ORIGIN = 10;
const ORIGINS = 6;

/** Counts how many answers of one kind are under way, in all and by where they are given. */
class Gauge {
  most = 0;
  mostOfOne = 0;
  #all = 0;
  readonly #byPlace = new Map<string, number>();

  /** The normal answer, 20 ms later. Only the wait is counted: once the answer is on its way, the client may send the next request. */
  slowly(place: string): Answer {
    return async (exchange) => {
      const here = (this.#byPlace.get(place) ?? 0) + 1;
      this.#byPlace.set(place, here);
      this.#all += 1;
      this.most = Math.max(this.most, this.#all);
      this.mostOfOne = Math.max(this.mostOfOne, here);
      await delayed(20, async () => undefined)(exchange);
      this.#all -= 1;
      this.#byPlace.set(place, (this.#byPlace.get(place) ?? 1) - 1);
      await pass(exchange);
    };
  }
}

test('a fleet of 60 toolsets that comes back all at once stays within 8 lists, 4 per origin and 24 connects, starves nobody and is few swaps', async () => {
  const lists = new Gauge();
  const connects = new Gauge();
  const servers: RawToolset[] = [];
  const proxies: Awaited<ReturnType<typeof startProxy>>[] = [];
  const entries: Record<string, string> = {};
  for (let origin = 0; origin < ORIGINS; origin += 1) {
    const server = await startRawToolset({ era: origin % 2 === 0 ? 'legacy' : 'modern', tools: [tool('a', 'before')] });
    const proxy = await startProxy(server.port);
    server.on('tools/list', lists.slowly(String(origin)));
    for (const what of ['initialize', 'server/discover']) server.on(what, connects.slowly(String(origin)));
    for (let path = 0; path < PER_ORIGIN; path += 1) entries[`t${origin}-${path}`] = `${proxy.origin}/mcp/${path}`;
    servers.push(server);
    proxies.push(proxy);
  }
  const steady = await startRawToolset({ tools: [tool('steady', '0')] });
  // A list that has run for 2 s gives up its place (3.3). On a machine that is busy otherwise some would: so the service's seconds are longer.
  const env = { ...NO_POLL, MCP_AGENT_API_DEBOUNCE_MS: '40' };
  const fleet = await startFleet({ ...entries, steady: steady.url }, { env, clock: fastClock(0.4) });
  for (const proxy of proxies) {
    proxy.refuse(true);
    proxy.cut('rst');
  }
  const inState = async (wanted: string) => (await fleet.status()).toolsets.filter(({ state }) => state === wanted).length;
  await until(async () => (await inState('failing')) === PER_ORIGIN * ORIGINS, { what: 'all to be failing', timeoutMs: 20_000 });
  for (const server of servers) server.tools = [tool('a', 'after')];
  const before = fleet.app.refresher.current?.number ?? 0;

  for (const proxy of proxies) proxy.refuse(false);
  steady.tools = [tool('steady', '1')];
  steady.push();
  const startedAt = performance.now();
  await until(async () => (await fleet.shown()).steady === '1', { what: 'the change of a toolset that was there all the time' });
  const steadyMs = performance.now() - startedAt;
  await until(async () => (await inState('watching')) === PER_ORIGIN * ORIGINS + 1, { what: 'all to be watched', timeoutMs: 30_000 });
  await until(async () => Object.values(await fleet.shown()).filter((text) => text === 'after').length === PER_ORIGIN * ORIGINS);

  expect(lists.most).toBeLessThanOrEqual(8);
  expect(lists.mostOfOne).toBeLessThanOrEqual(4);
  expect(connects.most).toBeLessThanOrEqual(24);
  // The bounds are used, so they are what was measured.
  expect(lists.most).toBeGreaterThan(4);
  expect(steadyMs).toBeLessThan(8_000);
  expect((fleet.app.refresher.current?.number ?? 0) - before).toBeLessThanOrEqual(20);
}, 90_000);

describe('Retry-After', () => {
  const secondsUntil = (at: string | null) => (Date.parse(at ?? '') - Date.now()) / 1_000;
  const forms: readonly [string, () => Answer, [number, number]][] = [
    ['seconds, with 429', () => respond({ status: 429, headers: { 'retry-after': '40' } }), [30, 50]],
    [
      'an HTTP date, with 503',
      () => respond({ status: 503, headers: { 'retry-after': new Date(Date.now() + 40_000).toUTCString() } }),
      [30, 50],
    ],
    ['more than an hour, which counts as one', () => respond({ status: 503, headers: { 'retry-after': '999999' } }), [3_000, 4_000]],
  ];
  test.each(forms)(
    'of %s, delays the retries of that toolset, but neither a request nor its stream nor the others',
    async (_form, answer, [least, most]) => {
      const busy = await startRawToolset({ tools: [tool('a', 'one')] });
      const other = await startRawToolset({ tools: [tool('b', 'one')] });
      const fleet = await startFleet({ busy: busy.url, other: other.url }, { env: NO_POLL });
      const mend = busy.on('tools/list', answer());
      busy.tools = [tool('a', 'two')];
      busy.push();
      const { retryAt } = await fleet.untilState('busy', 'failing');
      expect(secondsUntil(retryAt)).toBeGreaterThan(least);
      expect(secondsUntil(retryAt)).toBeLessThan(most);
      const asked = listsOf(busy);
      other.tools = [tool('b', 'two')];
      other.push();
      await fleet.untilGeneration(2);
      // Longer than any ordinary back-off at this point.
      await stays(() => listsOf(busy) === asked, { durationMs: 2_500, what: 'no list of the busy toolset' });

      const opened = busy.counts().GET ?? 0;
      busy.cutStreams('rst');
      await until(() => (busy.counts().GET ?? 0) > opened && busy.streams.size === 1, {
        what: 'the stream to be open again',
        timeoutMs: 2_000,
      });

      mend();
      expect(await fleet.refresh('busy')).toMatchObject({ status: 200, body: { toolsets: { failing: [] } } });
      expect(await fleet.shown()).toEqual({ a: 'two', b: 'two' });
    },
  );
});

test('a million tiny tools are refused by one try, before they are parsed, and delay the change of another toolset by less than 2 s', async () => {
  const greedy = await startRawToolset({ tools: [tool('a', 'one')] });
  const other = await startRawToolset({ tools: [tool('b', 'one')] });
  const fleet = await startFleet({ greedy: greedy.url, other: other.url }, { env: NO_POLL });
  const tiny = Buffer.from(`{"name":"x"}${',{"name":"x"}'.repeat(999_999)}`);
  greedy.on('tools/list', ({ response, id }) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.write(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"tools":[`);
    response.write(tiny);
    response.end(']}}');
  });
  const asked = listsOf(greedy);
  greedy.push();
  await until(() => listsOf(greedy) > asked, { what: 'the list to be asked for' });
  other.tools = [tool('b', 'two')];
  other.push();
  const startedAt = performance.now();
  await until(async () => (await fleet.shown()).b === 'two', { what: 'the change of the other' });
  expect(performance.now() - startedAt).toBeLessThan(2_000);
  const failing = await fleet.untilState('greedy', 'failing');
  expect(failing.error?.code).toBe('LIST_TOO_LARGE');
  expect(listsOf(greedy) - asked).toBe(failing.failures);
});
