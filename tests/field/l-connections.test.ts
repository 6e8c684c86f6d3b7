import { tool } from '../flows/fleet.js';
import { watchedSession } from '../mcp/session-fixture.js';
import { type RawToolset, startRawToolset } from '../support/raw-toolset.js';
import { stays, until } from '../support/until.js';
import { watchAbortListeners } from './abort-listeners.js';
import { heldBytes } from './memory.js';

const ERAS = ['legacy', 'modern'] as const;
const TOOLS = [tool('a', 'one')];

/** Ends the stream, and waits until the session has opened another and said so. */
async function cutOnce(toolset: RawToolset, session: { readonly signals: readonly string[] }, how: 'fin' | 'rst'): Promise<void> {
  const before = session.signals.length;
  toolset.cutStreams(how);
  await until(() => session.signals.length > before && toolset.streams.size === 1, { what: 'the stream to be open again' });
}

describe.each(ERAS)('a %s toolset whose connections end all the time', (era) => {
  test('B97: never has more than three sockets and two sessions of ours, and none after the end', async () => {
    const toolset = await startRawToolset({ era, tools: TOOLS });
    const session = watchedSession(toolset.url, { limits: { reopenMinMs: 1, reopenMaxMs: 2 } });
    await session.start();
    let most = { sockets: 0, sessions: 0 };
    const watching = setInterval(() => {
      most = { sockets: Math.max(most.sockets, toolset.openSockets()), sessions: Math.max(most.sessions, toolset.sessions.size) };
    }, 1);
    for (let count = 0; count < 50; count += 1) {
      const before = session.signals.length;
      toolset.resetSockets();
      if (count % 5 === 0) toolset.forgetSessions();
      await until(() => session.signals.length > before && toolset.streams.size === 1, { what: 'the stream to be open again' });
    }
    clearInterval(watching);
    // One for the stream, one for requests; a connection that is replaced ends after the new one is complete (4.6).
    expect(most.sockets).toBeLessThanOrEqual(4);
    expect(most.sessions).toBeLessThanOrEqual(2);
    await session.close();
    await until(() => toolset.openSockets() === 0 && toolset.sessions.size === 0, { what: 'no socket and no session' });
    const { length } = toolset.requests;
    await stays(() => toolset.requests.length === length, { durationMs: 300, what: 'silence' });
  });

  test('B98: leaves neither listeners nor memory behind and causes no warning, however often its stream ends', async () => {
    const listeners = watchAbortListeners();
    const warnings: Error[] = [];
    const warn = (warning: Error) => void warnings.push(warning);
    process.on('warning', warn);
    try {
      const toolset = await startRawToolset({ era, tools: TOOLS });
      const session = watchedSession(toolset.url, { limits: { reopenMinMs: 1, reopenMaxMs: 2 } });
      await session.start();
      const cycles = async (count: number) => {
        for (let done = 0; done < count; done += 1) await cutOnce(toolset, session, done % 2 === 0 ? 'fin' : 'rst');
        // What the test itself remembers does not count.
        toolset.requests.length = 0;
        session.signals.length = 0;
        return { bytes: heldBytes(), listeners: listeners() };
      };
      const before = await cycles(60);
      const after = await cycles(100);
      expect(before.listeners).toBeGreaterThan(0);
      expect(after.listeners).toBeLessThanOrEqual(before.listeners + 5);
      // Code that has become warm in the meantime takes some memory too; a connection or a socket left behind each time would take far more.
      expect(after.bytes - before.bytes).toBeLessThan(100 * 6_000);
      expect(warnings).toEqual([]);
    } finally {
      process.off('warning', warn);
    }
  });
});
