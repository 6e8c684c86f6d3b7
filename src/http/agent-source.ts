import type { AgentOfGeneration } from '../agent/build-agent.js';
import { assembleCatalog } from '../core/catalog.js';
import { fingerprint } from '../core/fingerprint.js';
import type { Generation, Lease } from '../core/generation.js';
import type { Clock, LiveAgents } from '../core/ports.js';

/** Where the routes take the agent from: whoever keeps it current, or a host's own function (CONTRACT.md 12.2). */
export interface AgentSource {
  lease(): Lease<AgentOfGeneration> | undefined;
  readonly current: Generation<AgentOfGeneration> | undefined;
  /** Undefined where a host keeps its agent itself: there is nothing to refresh and no status then. */
  readonly refresher: LiveAgents<AgentOfGeneration> | undefined;
}

/** A function that returns the current agent counts as a new generation each time it returns another object. */
export function agentSource(live: LiveAgents<AgentOfGeneration> | (() => AgentOfGeneration | undefined), clock: Clock): AgentSource {
  if (typeof live !== 'function') {
    return {
      lease: () => live.lease(),
      get current() {
        return live.current;
      },
      refresher: live,
    };
  }
  let newest: Generation<AgentOfGeneration> | undefined;
  const generation = () => {
    const agent = live();
    if (agent === undefined || agent === newest?.agent) return agent && newest;
    const digest = fingerprint(agent.tools);
    newest = {
      number: (newest?.number ?? 0) + 1,
      agent,
      catalog: { ...assembleCatalog([]), fingerprint: digest },
      fingerprint: digest,
      builtAt: clock.date(),
    };
    return newest;
  };
  return {
    lease: () => {
      const leased = generation();
      return leased && { generation: leased, release: () => {} };
    },
    get current() {
      return generation();
    },
    refresher: undefined,
  };
}
