import { CodedError } from '../../src/core/errors.js';
import type { ReadView } from '../../src/core/ports.js';
import type { ViewChange } from '../../src/core/refresher-events.js';
import { ViewCache, type ViewCacheOptions } from '../../src/refresh/view-cache.js';
import { ManualClock } from '../support/manual-clock.js';
import { until } from '../support/until.js';

const URI = 'ui://kb/app';

/** A cache over pages in memory whose reads a test may hold back or let fail. */
function cacheOf(options: Partial<ViewCacheOptions> = {}) {
  const clock = new ManualClock();
  const pages = new Map([[URI, 'one']]);
  const reads: string[] = [];
  const changes: ViewChange[] = [];
  let wait: Promise<void> = Promise.resolve();
  const cache = new ViewCache({
    read: async (toolset, uri): Promise<ReadView> => {
      reads.push(`${toolset} ${uri}`);
      const text = pages.get(uri);
      await wait;
      if (text === undefined) throw new CodedError('VIEW_UNREADABLE', 'It is gone.');
      return { html: Buffer.from(`${toolset} ${text}`), csp: undefined };
    },
    onChanged: (change) => void changes.push(change),
    clock,
    ...options,
  });
  const holdReads = () => {
    let release: () => void = () => undefined;
    wait = new Promise((resolve) => {
      release = resolve;
    });
    return release;
  };
  const textOf = async (toolset: string, uri = URI) => Buffer.from((await cache.get(toolset, uri)).html).toString();
  return { cache, clock, pages, reads, changes, holdReads, textOf };
}

test('a view that nobody has asked for is not read, however often its toolset is listed', async () => {
  const { cache, reads } = cacheOf();
  cache.name('kb', [URI]);
  await cache.reread('kb');
  expect(reads).toEqual([]);
});

test('concurrent first reads share one, and a failed one is tried again by the next caller', async () => {
  const { cache, pages, reads, textOf } = cacheOf();
  pages.delete(URI);
  const failed = await Promise.allSettled([cache.get('kb', URI), cache.get('kb', URI)]);
  expect(failed.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(reads).toHaveLength(1);
  pages.set(URI, 'one');
  expect(await textOf('kb')).toBe('kb one');
});

test('a re-read that is asked for while one is under way follows it, and all who ask meanwhile share that one', async () => {
  const { cache, pages, reads, holdReads, textOf } = cacheOf();
  await textOf('kb');
  const release = holdReads();
  const first = cache.reread('kb');
  await until(() => reads.length === 2);
  // The read under way has seen the old page already.
  pages.set(URI, 'two');
  const later = [cache.reread('kb'), cache.reread('kb'), cache.reread('kb', URI)];
  release();
  await Promise.all([first, ...later]);
  expect(reads).toHaveLength(3);
  expect(await textOf('kb')).toBe('kb two');
});

test('a re-read during the first read follows it', async () => {
  const { cache, pages, holdReads, reads, textOf } = cacheOf();
  const release = holdReads();
  const cold = textOf('kb');
  await until(() => reads.length === 1);
  pages.set(URI, 'two');
  const reread = cache.reread('kb');
  release();
  expect(await cold).toBe('kb one');
  await reread;
  expect(await textOf('kb')).toBe('kb two');
});

test('a host that sets an interval gets one re-read in it, and the last request is not lost', async () => {
  const { cache, clock, pages, reads, textOf } = cacheOf({ everySeconds: 60 });
  await textOf('kb');
  await cache.reread('kb');
  pages.set(URI, 'two');
  const again = Promise.all([cache.reread('kb'), cache.reread('kb')]);
  await clock.advance(59_000);
  expect(reads).toHaveLength(2);
  await clock.advance(1_000);
  await again;
  expect(reads).toHaveLength(3);
  expect(await textOf('kb')).toBe('kb two');
});

test('a page that is missed keeps its content, one that is equal is no change, and A to B to A are two changes', async () => {
  const { cache, pages, changes, textOf } = cacheOf();
  const first = await cache.get('kb', URI);
  await cache.reread('kb');
  pages.delete(URI);
  await cache.reread('kb');
  expect(await textOf('kb')).toBe('kb one');
  expect(changes).toEqual([]);
  pages.set(URI, 'two');
  await cache.reread('kb');
  pages.set(URI, 'one');
  await cache.reread('kb');
  expect(changes.map(({ from, to }) => [from === first.hash, to === first.hash])).toEqual([
    [true, false],
    [false, true],
  ]);
});

test('a replaced content is kept for so long and up to so many bytes, the newest first', async () => {
  const { cache, clock, pages, textOf } = cacheOf({ keepSeconds: 100, keepBytes: 20 });
  const versions: string[] = [];
  for (const text of ['one', 'two', 'six', 'ten', 'end']) {
    pages.set(URI, text);
    await cache.reread('kb');
    await textOf('kb');
    versions.push((await cache.get('kb', URI)).hash);
    await clock.advance(10_000);
  }
  const kept = () => versions.map((hash) => cache.version({ toolset: 'kb', uri: URI, hash }) !== undefined);
  // Six bytes each: three replaced ones fit.
  expect(kept()).toEqual([false, true, true, true, true]);
  await clock.advance(85_000);
  expect(kept()).toEqual([false, false, false, true, true]);
  await clock.advance(1_000_000);
  expect(kept()).toEqual([false, false, false, false, true]);
});

test('the hash of a content is for the toolset and the URI that had it', async () => {
  const { cache } = cacheOf();
  const { hash } = await cache.get('kb', URI);
  expect(cache.version({ toolset: 'other', uri: URI, hash })).toBeUndefined();
  expect(cache.version({ toolset: 'kb', uri: 'ui://kb/other', hash })).toBeUndefined();
  cache.forget('kb');
  expect(cache.find('kb', 'app')).toBeUndefined();
  expect(cache.version({ toolset: 'kb', uri: URI, hash })?.hash).toBe(hash);
});

test('a view that no tool names any more is served for a while, and unknown after it', async () => {
  const { cache, clock, textOf } = cacheOf({ keepSeconds: 100 });
  cache.name('kb', [URI]);
  await textOf('kb');
  cache.name('kb', []);
  expect(cache.find('kb', 'app')).toBe(URI);
  await clock.advance(101_000);
  cache.name('kb', []);
  expect(cache.find('kb', 'app')).toBeUndefined();
});

test('the first run waits for a view that does not come, and later ones do not', async () => {
  const { cache, clock, holdReads, reads } = cacheOf();
  const release = holdReads();
  const first = cache.hashSoon('kb', URI, 2_000);
  await until(() => reads.length === 1);
  expect(await cache.hashSoon('kb', URI, 2_000)).toBeNull();
  await clock.advance(2_000);
  expect(await first).toBeNull();
  expect(reads).toHaveLength(1);
  release();
  await cache.get('kb', URI);
  expect(await cache.hashSoon('kb', URI, 2_000)).toMatch(/^sha256-/);
});

test('a read that does not end is given up after the time limit', async () => {
  const { cache, clock } = cacheOf({
    timeoutSeconds: 3,
    read: (_toolset, _uri, signal) =>
      new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new CodedError('VIEW_TIMEOUT', 'Too late.')))),
  });
  const reading = cache.get('kb', URI);
  reading.catch(() => undefined);
  await clock.advance(3_000);
  await expect(reading).rejects.toMatchObject({ code: 'VIEW_TIMEOUT' });
});

test('closing ends reads and waits', async () => {
  const { cache, textOf } = cacheOf({ everySeconds: 60 });
  await textOf('kb');
  await cache.reread('kb');
  const waiting = cache.reread('kb');
  cache.close();
  await waiting;
});
