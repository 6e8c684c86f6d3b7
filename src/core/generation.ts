import type { Catalog } from './catalog.js';

/** One live agent with the catalog that it was built from. */
export interface Generation<Agent = unknown> {
  /** Rising from 1. */
  readonly number: number;
  readonly agent: Agent;
  readonly catalog: Catalog;
  readonly fingerprint: string;
  readonly builtAt: Date;
}

/** The right to use one generation until `release`. Releasing twice is harmless. */
export interface Lease<Agent = unknown> {
  readonly generation: Generation<Agent>;
  release(): void;
}
