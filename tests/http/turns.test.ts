import { runTurn } from '../support/run-client.js';
import { startAgentHost } from './agent-host.js';

interface Turns {
  readonly turns: number;
  readonly total: number;
  readonly history: readonly { turn: number; question: string; checkpointId: string | null; generation: number; fingerprint: string }[];
}

const SEARCH = { name: 'search', description: 'Searches', run: () => 'found' };

test('each turn tells its question, the generation that answered it, and the last checkpoint that belongs to it', async () => {
  const host = await startAgentHost({ toolsets: [{ name: 'kb', tools: [SEARCH] }] });
  host.model.reply(({ body }) =>
    body.messages.at(-1)?.role === 'user' ? { toolCalls: [{ name: 'search', args: {} }] } : { text: 'Here it is' },
  );
  const read = async (query = '') => (await (await fetch(`${host.url}/threads/t/turns${query}`)).json()) as Turns;
  await runTurn(host.url, { threadId: 't', text: 'first' });
  host.tooling.toolsets[0]?.setTools([{ ...SEARCH, description: 'Searches better' }]);
  await host.swap();
  await runTurn(host.url, { threadId: 't', text: 'second' });

  const { turns, total, history } = await read();
  expect([turns, total]).toEqual([2, 2]);
  expect(history).toMatchObject([
    { turn: 1, question: 'first', generation: 1 },
    { turn: 2, question: 'second', generation: 2, fingerprint: host.slot.current?.fingerprint },
  ]);
  expect(history[0]?.fingerprint).not.toBe(history[1]?.fingerprint);
  for (const { checkpointId, question } of history) {
    const at = { configurable: { thread_id: 't', checkpoint_ns: '', checkpoint_id: checkpointId ?? '' } };
    const state = await host.slot.current?.agent.graph.getState(at);
    const messages: { type: string; text: string }[] = state?.values.messages;
    expect(messages.findLast(({ type }) => type === 'human')?.text).toBe(question);
    expect(messages.at(-1)?.text).toBe('Here it is');
  }
  expect(await read('?limit=1')).toMatchObject({ turns: 1, total: 2, history: [{ turn: 2 }] });
});

test('the record of a turn stays here: the provider is sent no trace of it', async () => {
  const host = await startAgentHost();
  for (const text of ['first', 'second']) await runTurn(host.url, { threadId: 't', text });
  for (const { body, text } of host.model.requests) {
    expect(text).not.toMatch(/mcp_agent_turn|fingerprint|sha256-/);
    expect(body.messages.filter(({ role }) => role === 'user').map((message) => Object.keys(message).sort())).toEqual(
      body.messages.filter(({ role }) => role === 'user').map(() => ['content', 'role']),
    );
  }
  expect(host.model.requests).toHaveLength(2);
});

test('at most 50 turns are told unless asked otherwise, the newest ones, and the whole number with them', async () => {
  const host = await startAgentHost();
  for (let turn = 1; turn <= 52; turn++) await runTurn(host.url, { threadId: 't', text: `turn ${turn}` });
  const response = await fetch(`${host.url}/threads/t/turns`);
  const { turns, total, history } = (await response.json()) as Turns;
  expect([turns, total, history[0]?.question, history.at(-1)?.question]).toEqual([50, 52, 'turn 3', 'turn 52']);
});

test('an unknown thread is 404, and a limit that is no number from 1 to 1000 is 422', async () => {
  const host = await startAgentHost();
  expect((await fetch(`${host.url}/threads/nobody/turns`)).status).toBe(404);
  for (const limit of ['0', '-1', '1001', 'all', '1.5']) {
    expect([limit, (await fetch(`${host.url}/threads/t/turns?limit=${limit}`)).status]).toEqual([limit, 422]);
  }
});
