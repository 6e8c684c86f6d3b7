import { runTurn } from '../support/run-client.js';
import { startAgentHost } from './agent-host.js';

const toolsets = [
  { name: 'a', tools: [{ name: 'ask_a' }], credentialHeaders: ['x-demo-token'] },
  { name: 'b', tools: [{ name: 'ask_b' }], credentialHeaders: ['x-other'] },
];

const callBoth = ({ body }: { body: { messages: readonly { role: string }[] } }) =>
  body.messages.at(-1)?.role === 'user' ? { toolCalls: ['ask_a', 'ask_b'].map((name) => ({ name, args: {} })) } : { text: 'done' };

test("a user's header reaches only the toolset that declared it, only on his own call, and neither model nor thread (7.6)", async () => {
  const host = await startAgentHost({ toolsets });
  host.model.reply(callBoth);
  const users = Array.from({ length: 20 }, (_, number) => `secret-of-${number}`);
  const turns = await Promise.all(
    users.map((secret) =>
      runTurn(host.url, { text: 'go', threadId: secret.replace('secret-of', 'thread'), headers: { 'x-demo-token': secret } }),
    ),
  );
  const [a, b] = host.tooling.toolsets;
  expect(a?.calls.map(({ headers }) => headers['x-demo-token']).sort()).toEqual([...users].sort());
  expect(b?.calls).toHaveLength(users.length);
  expect(JSON.stringify(b?.requests)).not.toContain('secret-of');
  expect(host.model.requests.map(({ text }) => text).join()).not.toContain('secret-of');
  expect(JSON.stringify(turns.map(({ events }) => events))).not.toContain('secret-of');
  const thread = await (await fetch(`${host.url}/threads/thread-3`)).text();
  expect(thread).toContain('thread-3');
  expect(thread).not.toContain('secret-of');
  const anonymous = await runTurn(host.url, { text: 'go' });
  expect(anonymous.text).toBe('done');
  expect(a?.calls.at(-1)?.headers['x-demo-token']).toBeUndefined();
});

test('a token of this service is no toolset credential, another bearer token is', async () => {
  const host = await startAgentHost({
    toolsets: [{ name: 'a', tools: [{ name: 'ask_a' }], credentialHeaders: ['authorization'] }],
    router: { tokens: { admin: 'admin-token' } },
  });
  const credentialsWith = async (token: string) => {
    const response = await fetch(`${host.url}/connections`, { headers: { authorization: `Bearer ${token}` } });
    return ((await response.json()) as { toolsets: { credentials: unknown }[] }).toolsets[0]?.credentials;
  };
  expect(await credentialsWith('admin-token')).toEqual([{ header: 'authorization', supplied: false }]);
  expect(await credentialsWith('token-of-a-user')).toEqual([{ header: 'authorization', supplied: true }]);
});

test('a host says itself where a user keeps his credentials', async () => {
  const host = await startAgentHost({ toolsets, router: { credentials: (req, header) => req.get(`x-user-${header}`) } });
  host.model.reply(callBoth);
  await runTurn(host.url, { text: 'go', headers: { 'x-user-x-other': 'mine', 'x-other': 'not asked for' } });
  expect(host.tooling.toolsets[1]?.calls[0]?.headers['x-other']).toBe('mine');
});

/** Everything that a store holds as text: a memory store keeps serialized bytes. */
function storedText(held: unknown, seen = new Set<unknown>()): string {
  if (held instanceof Uint8Array) return new TextDecoder().decode(held);
  if (typeof held !== 'object' || held === null || seen.has(held)) return String(held);
  seen.add(held);
  return Object.entries(held)
    .map(([key, value]) => `${key}=${storedText(value, seen)}`)
    .join('\n');
}

test('the store of the threads holds the turn, and no credential (7.6)', async () => {
  const host = await startAgentHost({ toolsets });
  host.model.reply(callBoth);
  await runTurn(host.url, {
    text: 'a question to find',
    threadId: 't1',
    headers: { 'x-demo-token': 'secret-of-1', 'x-other': 'secret-of-1' },
  });
  expect(host.tooling.toolsets[1]?.calls[0]?.headers['x-other']).toBe('secret-of-1');
  const stored = storedText(host.saver);
  expect(stored).toContain('a question to find');
  expect(stored).toContain('ask_a');
  expect(stored).not.toContain('secret-of');
});
