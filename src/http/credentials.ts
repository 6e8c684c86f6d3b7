import type { Request } from 'express';
import type { AgentOfGeneration } from '../agent/build-agent.js';
import type { Callers } from './caller.js';

/** Finds the value that this request's user supplies for a declared credential header; undefined if none. */
export type CredentialLookup = (req: Request, header: string) => string | undefined;

/** The request's own header; an `Authorization` that carries a token of this service stays here (CONTRACT.md 7.6). */
export function headerLookup(callers: Callers): CredentialLookup {
  return (req, header) => (header === 'authorization' && callers.isOwnToken(req) ? undefined : req.get(header));
}

/** The headers for one run's tool calls, by the id of the toolset's snapshot: only what that toolset declared (CONTRACT.md 7.6). */
export function credentialsOfRun(req: Request, agent: AgentOfGeneration, lookup: CredentialLookup): Map<string, Record<string, string>> {
  const bySnapshot = new Map<string, Record<string, string>>();
  for (const { snapshotId, headers } of agent.credentials) {
    const supplied = headers.flatMap((header) => {
      const value = lookup(req, header);
      return value === undefined || value === '' ? [] : [[header, value] as const];
    });
    if (supplied.length > 0) bySnapshot.set(snapshotId, Object.fromEntries(supplied));
  }
  return bySnapshot;
}
