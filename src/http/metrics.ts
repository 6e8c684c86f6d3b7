import type { RequestHandler } from 'express';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { Clock } from '../core/ports.js';
import type { RoundRecord, ToolsetState, ToolsetStatus } from '../core/status.js';
import type { AgentSource } from './agent-source.js';
import type { OpenRuns } from './open-runs.js';
import type { RunOutcome } from './runs.js';

const STATES: readonly ToolsetState[] = ['connecting', 'watching', 'polling', 'failing', 'closed'];

/** From a list on the same machine to one that runs into its time limit. */
const LIST_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 30];
const ROUND_BUCKETS = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 30];

export interface MetricsOptions {
  readonly source: AgentSource;
  readonly openRuns: OpenRuns;
  readonly clock: Clock;
}

/**
 * The metrics of CONTRACT.md 13.2 in a registry of their own, so that two services in one process do not meet. What can be read
 * when Prometheus asks is read then; only what happens between two questions is counted as it happens.
 */
export class Metrics {
  readonly #registry = new Registry();
  readonly #lists: Histogram<'toolset'>;
  readonly #runs: Counter<'outcome'>;
  readonly #listed = new Set<string>();
  readonly #toolsets: () => readonly ToolsetStatus[];
  #hasDefaults = false;

  constructor({ source, openRuns, clock }: MetricsOptions) {
    const registers = [this.#registry];
    const { refresher } = source;
    const toolsets = (): readonly ToolsetStatus[] => refresher?.status().toolsets ?? [];
    this.#runs = new Counter({
      name: 'mcp_agent_runs_total',
      help: 'Runs that ended or were refused, by outcome.',
      labelNames: ['outcome'],
      registers,
    });
    const rounds = new Counter({
      name: 'mcp_agent_rounds_total',
      help: 'Rounds, by outcome and by what opened them.',
      labelNames: ['outcome', 'trigger'],
      registers,
    });
    const roundSeconds = new Histogram({
      name: 'mcp_agent_round_seconds',
      help: 'How long rounds took.',
      buckets: ROUND_BUCKETS,
      registers,
    });
    this.#lists = new Histogram({
      name: 'mcp_agent_list_seconds',
      help: 'How long complete lists took, from the moment when they got their place.',
      labelNames: ['toolset'],
      buckets: LIST_BUCKETS,
      registers,
    });
    this.#addGauge('mcp_agent_generation', 'The number of the live generation; 0 before the first.', () => source.current?.number ?? 0);
    this.#addGauge('mcp_agent_runs_in_flight', 'Runs that stream now.', () => openRuns.size);
    this.#addGauge('mcp_agent_draining_seconds', 'How long ago the oldest generation that still has runs was replaced.', () => {
      const since = (refresher?.status().draining ?? []).map((generation) => Date.parse(generation.since));
      return since.length === 0 ? 0 : secondsSince(Math.min(...since), clock);
    });
    new Gauge({
      name: 'mcp_agent_toolset_state',
      help: 'One for the state in which a toolset is, zero for the others.',
      labelNames: ['toolset', 'state'],
      registers,
      collect() {
        this.reset();
        for (const { name, state } of toolsets())
          for (const each of STATES) this.set({ toolset: name, state: each }, each === state ? 1 : 0);
      },
    });
    new Gauge({
      name: 'mcp_agent_staleness_seconds',
      help: 'The age of the last complete list of a toolset.',
      labelNames: ['toolset'],
      registers,
      collect() {
        this.reset();
        for (const { name, listedAt } of toolsets())
          if (listedAt !== null) this.set({ toolset: name }, secondsSince(Date.parse(listedAt), clock));
      },
    });
    new Counter({
      name: 'mcp_agent_missed_signals_total',
      help: 'Changes that a poll found although the toolset should have announced them.',
      labelNames: ['toolset'],
      registers,
      collect() {
        this.reset();
        for (const { name, missedSignals } of toolsets()) this.inc({ toolset: name }, missedSignals);
      },
    });
    const conclude = ({ outcome, trigger, durationMs }: RoundRecord) => {
      rounds.inc({ outcome, trigger });
      roundSeconds.observe(durationMs / 1_000);
    };
    refresher?.on?.('swapped', ({ round }) => conclude(round));
    for (const outcome of ['held', 'unchanged', 'aborted', 'rejected'] as const) refresher?.on?.(outcome, conclude);
    refresher?.on?.('listed', ({ toolset, durationMs, error }) => {
      if (error !== null) return;
      this.#listed.add(toolset);
      this.#lists.observe({ toolset }, durationMs / 1_000);
    });
    this.#toolsets = toolsets;
  }

  /** Counts a run that ended or was refused. */
  runEnded(outcome: RunOutcome): void {
    this.#runs.inc({ outcome });
  }

  /** `GET /metrics`. */
  readonly route: RequestHandler = async (_req, res) => {
    // Node's own metrics observe the process from the first question on; a host that never asks pays nothing for them.
    if (!this.#hasDefaults) collectDefaultMetrics({ register: this.#registry });
    this.#hasDefaults = true;
    this.#forgetToolsets();
    const text = await this.#registry.metrics();
    res.setHeader('content-type', this.#registry.contentType);
    res.end(text);
  };

  #addGauge(name: string, help: string, read: () => number): void {
    new Gauge({
      name,
      help,
      registers: [this.#registry],
      collect() {
        this.set(read());
      },
    });
  }

  /** The series of a toolset go when it leaves the index. */
  #forgetToolsets(): void {
    const named = new Set(this.#toolsets().map(({ name }) => name));
    for (const toolset of this.#listed) {
      if (named.has(toolset)) continue;
      this.#listed.delete(toolset);
      this.#lists.remove({ toolset });
    }
  }
}

function secondsSince(at: number, clock: Clock): number {
  return Math.max(0, (clock.date().getTime() - at) / 1_000);
}
