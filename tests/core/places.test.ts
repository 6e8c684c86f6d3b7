import { Places } from '../../src/core/places.js';

/** Takes a place and notes the name when it was given. */
function enter(places: Places, name: string, order: string[], more: { origin?: string; priority?: number; signal?: AbortSignal } = {}) {
  const taking = places.take({ origin: 'o', ...more });
  taking.then(
    () => order.push(name),
    () => order.push(`${name} gave up`),
  );
  return taking;
}

const settle = () => new Promise((resolve) => setImmediate(resolve));

describe('Places', () => {
  it('lets in as many as there are places, and the next when one leaves', async () => {
    const places = new Places({ total: 2 });
    const order: string[] = [];
    const first = await enter(places, 'a', order);
    enter(places, 'b', order);
    enter(places, 'c', order);
    await settle();
    expect(order).toEqual(['a', 'b']);
    first.leave();
    first.leave();
    await settle();
    expect(order).toEqual(['a', 'b', 'c']);
    expect(places.taken).toBe(2);
  });

  it('gives places by priority, then in the order of asking', async () => {
    const places = new Places({ total: 1 });
    const order: string[] = [];
    const holder = await places.take({ origin: 'o' });
    const waiting = [
      enter(places, 'late', order),
      enter(places, 'first', order, { priority: 1 }),
      enter(places, 'second', order, { priority: 1 }),
    ];
    holder.leave();
    for (const place of [waiting[1], waiting[2], waiting[0]]) (await place)?.leave();
    expect(order).toEqual(['first', 'second', 'late']);
    expect(places.taken).toBe(0);
  });

  it('does not let a full origin hold up another one', async () => {
    const places = new Places({ total: 4, perOrigin: 1 });
    const order: string[] = [];
    const first = await enter(places, 'x1', order, { origin: 'x' });
    enter(places, 'x2', order, { origin: 'x', priority: 9 });
    enter(places, 'y1', order, { origin: 'y' });
    await settle();
    expect(order).toEqual(['x1', 'y1']);
    first.leave();
    await settle();
    expect(order).toEqual(['x1', 'y1', 'x2']);
  });

  it('forgets who gave up waiting', async () => {
    const places = new Places({ total: 1 });
    const order: string[] = [];
    const holder = await places.take({ origin: 'o' });
    const abort = new AbortController();
    enter(places, 'a', order, { signal: abort.signal });
    enter(places, 'b', order);
    abort.abort();
    await settle();
    holder.leave();
    await settle();
    expect(order).toEqual(['a gave up', 'b']);
    await expect(places.take({ origin: 'o', signal: AbortSignal.abort(new Error('no')) })).rejects.toThrow('no');
  });
});
