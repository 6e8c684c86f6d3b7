import { toolsetId } from '../../src/core/snapshot.js';
import { openPool } from '../../src/mcp/session-pool.js';
import { systemClock } from '../../src/system-clock.js';
import { onCleanup } from '../support/cleanup.js';
import { startSdkToolset } from '../support/sdk-toolset.js';
import { stays, until } from '../support/until.js';
import { codeOf, endpointOf, SHORT, SILENT } from './session-fixture.js';

async function pooled() {
  const toolset = await startSdkToolset({ era: 'legacy', tools: [{ name: 'a' }] });
  const events: string[] = [];
  const pool = openPool({
    clock: systemClock,
    logger: SILENT,
    env: {},
    heartbeatSeconds: 0,
    limits: SHORT,
    onSignal: (id, kind) => events.push(`${id} ${kind}`),
    onStatus: (id, { push }) => events.push(`${id} ${push}`),
  });
  onCleanup(() => pool.closeAll());
  const endpoint = endpointOf(toolset.url);
  const id = toolsetId(endpoint.name, endpoint.url);
  await pool.get(endpoint).connect(AbortSignal.timeout(10_000));
  return { toolset, pool, endpoint, id, events };
}

const call = { tool: 'a', args: {}, timeoutMs: 5_000 };

describe('the session pool', () => {
  it('has one session per toolset, and tells by its identity what happens', async () => {
    const { toolset, pool, endpoint, id, events } = await pooled();
    expect(pool.get({ ...endpoint })).toBe(pool.get(endpoint));
    expect(pool.status(id)).toMatchObject({ push: 'watching' });
    toolset.notify();
    await until(() => events.includes(`${id} notification`));
    expect(events).toEqual([`${id} watching`, `${id} notification`]);
    expect(await pool.call(id, call)).toMatchObject({ isError: false });
  });

  it('closes the session of a toolset that left the index', async () => {
    const { toolset, pool, id } = await pooled();
    pool.dismiss(id);
    await until(() => toolset.sessions() === 0 && toolset.sockets() === 0);
    expect(pool.status(id)).toBeUndefined();
    expect(await codeOf(pool.call(id, call))).toBe('TOOL_GONE');
  });

  it('keeps it as long as somebody holds it', async () => {
    const { toolset, pool, id } = await pooled();
    pool.acquire(id);
    pool.acquire(id);
    pool.dismiss(id);
    pool.release(id);
    await stays(() => toolset.sessions() === 1, { durationMs: 100 });
    expect(await pool.call(id, call)).toMatchObject({ isError: false });
    pool.release(id);
    await until(() => toolset.sessions() === 0);
  });

  it('keeps a wanted session that nobody holds, and one that is wanted again', async () => {
    const { toolset, pool, id, endpoint } = await pooled();
    pool.acquire(id);
    pool.release(id);
    pool.acquire(id);
    pool.dismiss(id);
    pool.get(endpoint);
    pool.release(id);
    await stays(() => toolset.sessions() === 1, { durationMs: 100 });
  });

  it('closes everything, and opens nothing afterwards', async () => {
    const { toolset, pool, endpoint } = await pooled();
    await pool.closeAll();
    await until(() => toolset.sessions() === 0 && toolset.sockets() === 0);
    expect(() => pool.get(endpointOf('http://127.0.0.1:9/mcp'))).toThrow(expect.objectContaining({ code: 'SESSION_CLOSED' }));
    expect(() => pool.get(endpoint)).toThrow();
  });
});
