import type { RequestHandler } from 'express';
import { fallbackVariable } from '../core/fallback-credential.js';
import type { AgentSource } from './agent-source.js';
import type { CredentialLookup } from './credentials.js';
import { notReady } from './problem.js';

export interface ConnectionsDeps {
  readonly source: AgentSource;
  readonly lookup: CredentialLookup;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** `GET /connections`: what the model is shown, word for word, and which credentials are wanted (CONTRACT.md 9). */
export function connectionsRoute({ source, lookup, environment }: ConnectionsDeps): RequestHandler {
  return (req, res) => {
    const agent = source.current?.agent;
    if (!agent) throw notReady();
    const fallbackOf = (header: string) => environment[fallbackVariable(header) ?? ''];
    const isSupplied = (header: string) => Boolean(lookup(req, header) || fallbackOf(header));
    res.json({
      toolsets: agent.credentials.map(({ toolset, headers }) => ({
        name: toolset,
        credentials: headers.map((header) => ({ header, supplied: isSupplied(header) })),
      })),
      tools: agent.tools.map(({ name, toolset, original, description, parameters }) => ({
        name,
        toolset,
        original,
        description,
        parameters,
      })),
      withheld: agent.withheld,
    });
  };
}
