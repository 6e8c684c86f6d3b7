import type { Preview } from '../core/change-report.js';
import { diffCatalogs, diffSnapshots } from '../core/diff.js';
import { isEmpty } from '../core/list-judgement.js';
import { comparedWith, reviewList } from '../core/review.js';
import type { Rounds, Toolset } from '../core/round-state.js';
import type { Snapshot } from '../core/snapshot.js';
import type { CatalogChanges } from '../core/status.js';
import type { Generations } from './generations.js';
import { asCoded, shownError } from './status-report.js';
import type { Watcher } from './watcher.js';

const NO_CHANGES: CatalogChanges = { added: [], removed: [], changed: [] };
const NOTHING_BUILT = { rejected: [] as readonly string[], error: null, catalog: null };
const ORDER = ['failed', 'would-reject', 'would-swap', 'would-hold'] as const;

export interface PreviewOptions {
  readonly toolsets: readonly Toolset[];
  readonly watcher: Watcher;
  /** Tries to build an agent from the live catalog with these changes, and keeps nothing. */
  readonly generations: Pick<Generations<unknown>, 'tryBuild'>;
}

/** Lists toolsets aside from the rounds and says what would follow (CONTRACT.md 9, `POST /refresh?dry=true`). Never rejects. */
export async function preview({ toolsets, watcher, generations }: PreviewOptions): Promise<Preview> {
  const lists = await Promise.all(toolsets.map((toolset) => listOne(toolset, watcher)));
  const { rounds: now } = watcher;
  const judged = lists.map(({ toolset, list }) => ({
    toolset,
    list,
    outcome: list.kind === 'failed' ? ('failed' as const) : outcomeOf(now, list.snapshot),
  }));
  const differing = judged.flatMap(({ toolset: { name }, list, outcome }) =>
    list.kind === 'complete' && outcome === 'would-swap' ? [{ name, snapshot: list.snapshot }] : [],
  );
  const { rejected, error, catalog } = differing.length === 0 ? NOTHING_BUILT : await generations.tryBuild(now.live, differing);
  const found = judged.map(({ toolset: { id, name }, list, outcome }): Preview['toolsets'][number] => {
    if (list.kind === 'failed') {
      const shown = shownError(list.error, watcher.urlOf(id));
      return { name, outcome: 'failed', fingerprint: null, classes: [], changes: NO_CHANGES, error: shown };
    }
    const { snapshot } = list;
    const { added, removed, changed, classes } = diffSnapshots(comparedWith(now, name), snapshot);
    const changes = { added, removed, changed: changed.map(({ tool }) => tool) };
    const isRejected = rejected.includes(name);
    return {
      ...{ name, fingerprint: snapshot.fingerprint, classes, changes },
      outcome: isRejected ? 'would-reject' : outcome,
      error: isRejected && error !== null ? shownError(error, watcher.urlOf(id)) : null,
    };
  });
  return {
    outcome: ORDER.find((outcome) => found.some((one) => one.outcome === outcome)) ?? 'unchanged',
    toolsets: found.sort((a, b) => (a.name < b.name ? -1 : 1)),
    changes: catalog === null ? NO_CHANGES : diffCatalogs(now.live ?? undefined, catalog),
  };
}

function outcomeOf(rounds: Rounds, snapshot: Snapshot): 'would-swap' | 'would-hold' | 'unchanged' {
  const live = rounds.live?.snapshots.find(({ toolset }) => toolset === snapshot.toolset);
  if (live?.id === snapshot.id && live.fingerprint === snapshot.fingerprint) return 'unchanged';
  // A list that is suddenly empty is asked for again before it counts (CONTRACT.md 3.8).
  if (live !== undefined && isEmpty(snapshot) && !isEmpty(live)) return 'would-hold';
  const review = reviewList(rounds, snapshot, live);
  return review === 'pass' ? 'would-swap' : review === 'hold' ? 'would-hold' : 'unchanged';
}

async function listOne(toolset: Toolset, watcher: Watcher) {
  try {
    return { toolset, list: { kind: 'complete', snapshot: await watcher.listAside(toolset) } } as const;
  } catch (error) {
    // The failure is this toolset's answer.
    return { toolset, list: { kind: 'failed', error: asCoded(error, toolset.name) } } as const;
  }
}
