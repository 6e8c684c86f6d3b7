import { setImmediate as nextTurn } from 'node:timers/promises';
import { assembleCatalog, type Catalog } from '../core/catalog.js';
import { CodedError } from '../core/errors.js';
import type { CatalogChange } from '../core/round-state.js';

/** What a change puts in the place of a toolset's snapshot. */
export type ChangedToolset = Pick<CatalogChange, 'name' | 'snapshot'>;

export type Build<Agent> = (catalog: Catalog) => Agent | Promise<Agent>;

export interface Candidate<Agent> {
  /** The new agent with its catalog; undefined when none could be built. */
  readonly built: { readonly agent: Agent; readonly catalog: Catalog } | undefined;
  readonly accepted: readonly string[];
  readonly rejected: readonly string[];
  readonly error: CodedError | null;
}

/**
 * Builds an agent aside from the live one. Where the whole cannot be built and several toolsets changed, each change is tried on
 * top of those that went in, so that one that cannot be built does not block the others (CONTRACT.md 3.7).
 */
export async function buildCandidate<Agent>(
  build: Build<Agent>,
  base: Catalog | null,
  changes: readonly ChangedToolset[],
): Promise<Candidate<Agent>> {
  const whole = await tryBuild(build, apply(base, changes));
  if (whole.error === null) return { built: whole, accepted: changes.map(({ name }) => name), rejected: [], error: null };
  if (changes.length === 1) return { built: undefined, accepted: [], rejected: changes.map(({ name }) => name), error: whole.error };

  let built: Candidate<Agent>['built'];
  let error: CodedError = whole.error;
  const accepted: ChangedToolset[] = [];
  const rejected: string[] = [];
  for (const change of changes) {
    const attempt = await tryBuild(build, apply(base, [...accepted, change]));
    if (attempt.error === null) {
      accepted.push(change);
      built = attempt;
    } else {
      rejected.push(change.name);
      error = attempt.error;
    }
  }
  return { built, accepted: accepted.map(({ name }) => name), rejected, error };
}

function apply(base: Catalog | null, changes: readonly ChangedToolset[]): Catalog {
  const byName = new Map(base?.snapshots.map((snapshot) => [snapshot.toolset, snapshot]));
  for (const { name, snapshot } of changes) {
    if (snapshot === null) byName.delete(name);
    else byName.set(name, snapshot);
  }
  return assembleCatalog(byName.values(), base ?? undefined);
}

type Attempt<Agent> = { readonly error: null; readonly agent: Agent; readonly catalog: Catalog } | { readonly error: CodedError };

async function tryBuild<Agent>(build: Build<Agent>, catalog: Catalog): Promise<Attempt<Agent>> {
  // With thousands of tools, to assemble a catalog, to build the agent and to conclude the round take a while each; between them others have their turn.
  await nextTurn();
  try {
    const agent = await build(catalog);
    await nextTurn();
    return { error: null, agent, catalog };
  } catch (cause) {
    // The failure is the answer: the round is recorded as rejected with it, and the live agent stays.
    const reason = cause instanceof Error ? cause.message : String(cause);
    return { error: new CodedError('BUILD_FAILED', `The agent could not be built: ${reason}`, { cause }) };
  }
}
