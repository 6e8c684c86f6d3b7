import type { RequestHandler } from 'express';
import { readThread } from '../agent/stream-run.js';
import type { RunLocks } from '../core/run-lock.js';
import type { AgentSource } from './agent-source.js';
import { parseBody } from './json-body.js';
import { notReady, Problem } from './problem.js';
import { idSchema } from './run-request.js';

/** `GET /threads/{id}`: the messages of a thread with the ids under which they were streamed. */
export function threadRoute(source: AgentSource, locks: RunLocks): RequestHandler {
  return async (req, res) => {
    const threadId = parseBody(idSchema, req.params.id);
    const agent = source.current?.agent;
    if (!agent) throw notReady();
    const messages = await readThread(agent, threadId);
    if (messages.length === 0) throw new Problem(404, 'unknown_thread', 'There is no such thread.');
    res.json({ threadId, messages, running: await locks.isHeld(threadId) });
  };
}
