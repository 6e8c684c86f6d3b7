import type { RequestHandler } from 'express';
import type { AgentSource } from './agent-source.js';
import type { OpenRuns } from './open-runs.js';

/** `GET /health/liveness`: 200 while the process lives. */
export const livenessRoute: RequestHandler = (_req, res) => {
  res.json({ status: 'alive' });
};

/** `GET /health/readiness`: 503 until the service is ready and from SIGTERM on; a failed refresh never makes it 503 (CONTRACT.md 9). */
export function readinessRoute(source: AgentSource, openRuns: OpenRuns): RequestHandler {
  return (_req, res) => {
    const { ready, failing } = source.refresher?.readiness() ?? { ready: source.current !== undefined, failing: [] };
    if (openRuns.draining) res.status(503).json({ status: 'draining', detail: 'The service is shutting down.', code: 'shutting_down' });
    else if (!ready) res.status(503).json({ status: 'starting', detail: 'The agent is not ready yet.', code: 'not_ready' });
    else if (failing.length > 0) res.json({ status: 'degraded', failing });
    else res.json({ status: 'ready' });
  };
}
