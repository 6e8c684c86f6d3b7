import express from 'express';
import type { AgentOfGeneration } from '../../src/agent/build-agent.js';
import { createRouter } from '../../src/http/router.js';
import { serveLoopback } from '../support/loopback-server.js';
import { runTurn } from '../support/run-client.js';
import { startAgentHost } from './agent-host.js';

test('a host that keeps its agent itself hands in a function; every other agent is another generation (12.2)', async () => {
  const host = await startAgentHost({ toolsets: [{ name: 'kb', tools: [{ name: 'one' }] }] });
  let agent: AgentOfGeneration | undefined;
  const app = express().use(
    '/agent',
    createRouter(() => agent),
  );
  const { origin } = await serveLoopback((req, res) => app(req, res));
  const turn = () => runTurn(origin, { text: 'hi', path: '/agent/runs' });
  expect((await turn()).status).toBe(503);
  expect((await fetch(`${origin}/agent/health/readiness`)).status).toBe(503);
  agent = await host.swap();
  expect((await turn()).headers.get('x-agent-generation')).toBe('1');
  expect((await turn()).headers.get('x-agent-generation')).toBe('1');
  agent = await host.swap();
  expect((await turn()).headers.get('x-agent-generation')).toBe('2');
  expect((await fetch(`${origin}/agent/health/readiness`)).status).toBe(200);
  expect((await fetch(`${origin}/agent/refresh`)).status).toBe(404);
});
