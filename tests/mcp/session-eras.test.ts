import { type SdkEra, startSdkToolset } from '../support/sdk-toolset.js';
import { until } from '../support/until.js';
import { watchedSession } from './session-fixture.js';

const ERAS: readonly { era: SdkEra; push: 'watching' | 'polling'; protocol: string }[] = [
  { era: 'legacy', push: 'watching', protocol: '2025-11-25' },
  { era: 'stateless', push: 'polling', protocol: '2025-11-25' },
  { era: 'modern', push: 'watching', protocol: '2026-07-28' },
  { era: 'both', push: 'watching', protocol: '2026-07-28' },
];

describe.each(ERAS)('a session with an SDK server ($era)', ({ era, push, protocol }) => {
  it('connects, knows whether it can be told of changes, lists, and calls', async () => {
    const toolset = await startSdkToolset({ era, name: 'books', instructions: 'Ask for books.', tools: [{ name: 'a' }, { name: 'b' }] });
    const session = watchedSession(toolset.url);
    await session.start();
    expect(session.status()).toEqual({ push, protocol, server: { name: 'books', version: expect.any(String) } });
    const list = await session.listNow();
    expect(list).toMatchObject({ instructions: 'Ask for books.', declaresTools: true });
    expect(list.tools.map((tool) => tool.name)).toEqual(['a', 'b']);
    const result = await session.call({ tool: 'a', args: { x: 1 }, timeoutMs: 5_000 });
    expect(result.isError).toBe(false);
    expect(JSON.stringify(result.content)).toContain('x');
    expect(session.signals).toEqual([]);
  });

  it('leaves no socket and no session behind when it is closed', async () => {
    const toolset = await startSdkToolset({ era, tools: [{ name: 'a' }] });
    const session = watchedSession(toolset.url);
    await session.start();
    await session.listNow();
    await session.call({ tool: 'a', args: {}, timeoutMs: 5_000 });
    await session.close();
    expect(session.status().push).toBe('closed');
    await until(() => toolset.sockets() === 0 && toolset.sessions() === 0 && toolset.streams() === 0, { what: 'nothing to be left' });
  });

  if (push === 'watching') {
    it('turns a notification into a signal at once', async () => {
      const toolset = await startSdkToolset({ era, tools: [{ name: 'a' }] });
      const session = watchedSession(toolset.url);
      await session.start();
      toolset.setTools([{ name: 'a' }, { name: 'b' }]);
      await until(() => session.signals.includes('notification'));
      expect(await session.names()).toEqual(['a', 'b']);
    });
  }
});

const FLIPS: readonly { from: SdkEra; to: SdkEra }[] = ERAS.flatMap(({ era: from }) => ERAS.map(({ era: to }) => ({ from, to })));

describe.each(FLIPS)('a redeploy from $from to $to behind the same URL', ({ from, to }) => {
  it.each(['kill', 'stop'] as const)('is found by the signal and the list that follows it (%s)', async (how) => {
    const toolset = await startSdkToolset({ era: from, tools: [{ name: 'old' }] });
    const session = watchedSession(toolset.url);
    await session.start();
    expect(await session.names()).toEqual(['old']);
    const watching = session.status().push === 'watching';
    await toolset[how]();
    await toolset.restart({ era: to, tools: [{ name: 'new' }] });
    if (watching) await until(() => session.signals.includes('reconnect'), { what: 'a reconnect signal' });
    expect(await session.names()).toEqual(['new']);
    const expected = ERAS.find(({ era }) => era === to)?.push;
    // From a server without sessions to one that pushes, only the renewal of the session shows the new channel.
    if (from !== 'stateless' || to === 'legacy')
      await until(() => session.status().push === expected || to === 'both', { what: `push to be ${expected}` });
    expect((await session.call({ tool: 'new', args: {}, timeoutMs: 5_000 })).isError).toBe(false);
  });
});
