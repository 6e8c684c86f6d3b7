import { CodedError, ToolsetRefresher } from '../../src/index.js';
import { onCleanup } from '../support/cleanup.js';
import { startIndex } from '../support/index-server.js';
import { startSdkToolset } from '../support/sdk-toolset.js';
import { tool } from './fleet.js';

/** A refresher of one toolset that answers and of one that is down; it gives its start up after four seconds. */
async function startRefresher(options: { readonly required?: readonly string[] | '*'; readonly build: () => object }) {
  const [up, down] = await Promise.all(['up', 'down'].map((name) => startSdkToolset({ era: 'legacy', tools: [tool(name, 'one')] })));
  await down?.kill();
  const index = await startIndex({ up: up?.url ?? '', down: down?.url ?? '' });
  const refresher = new ToolsetRefresher({ url: index.url, startupSeconds: 4, readySeconds: 0, ...options });
  onCleanup(() => refresher.stop());
  const error: unknown = await refresher.start().then(
    () => undefined,
    (reason: unknown) => reason,
  );
  return { refresher, error, sessions: () => up?.sessions() };
}

test('a start without what it needs is ready with the toolsets that it has', async () => {
  const { refresher, error } = await startRefresher({ build: () => ({}) });
  expect(error).toBeUndefined();
  expect(refresher.readiness()).toEqual({ ready: true, failing: ['down'] });
});

test.each([['by its name', ['down']] as const, ['as one of all', '*'] as const])(
  'a start whose required toolset, %s, does not answer is given up and says which one is missing (11.1)',
  async (_how, required) => {
    const { refresher, error, sessions } = await startRefresher({ required, build: () => ({}) });
    expect(error).toBeInstanceOf(CodedError);
    expect(error).toMatchObject({ code: 'STARTUP_FAILED', message: expect.stringMatching(/^.*\n(.*\n)?.*down: TOOLSET_UNREACHABLE/) });
    expect(refresher.readiness().ready).toBe(false);
    expect(sessions()).toBe(0);
  },
);

test('a start whose first agent cannot be built is given up and says why (11.1)', async () => {
  const build = () => {
    throw new Error('The model does not like these tools.');
  };
  const { refresher, error } = await startRefresher({ build });
  expect(error).toMatchObject({
    code: 'STARTUP_FAILED',
    message: expect.stringContaining('agent: The agent could not be built: The model does not like these tools.'),
  });
  expect(refresher.current).toBeUndefined();
});
