import type { Catalog } from '../core/catalog.js';
import { type Preview, withSnapshot } from '../core/change-report.js';
import { diffCatalogs, diffSnapshots } from '../core/diff.js';
import { isEmpty } from '../core/list-judgement.js';
import { comparedWith, reviewList } from '../core/review.js';
import type { Rounds, Toolset } from '../core/round-state.js';
import type { Snapshot } from '../core/snapshot.js';
import type { CatalogChanges } from '../core/status.js';
import { asCoded, shownError } from './status-report.js';
import type { Watcher } from './watcher.js';

const NO_CHANGES: CatalogChanges = { added: [], removed: [], changed: [] };

/** Lists toolsets aside from the rounds and says what would follow (CONTRACT.md 9, `POST /refresh?dry=true`). Never rejects. */
export async function preview(toolsets: readonly Toolset[], watcher: Watcher): Promise<Preview> {
  const lists = await Promise.all(toolsets.map((toolset) => listOne(toolset, watcher)));
  const { rounds: now } = watcher;
  const before = now.live ?? undefined;
  let after: Catalog | undefined = before;
  const found = lists.map(({ toolset: { id, name }, list }): Preview['toolsets'][number] => {
    if (list.kind === 'failed') {
      return {
        name,
        outcome: 'failed',
        fingerprint: null,
        classes: [],
        changes: NO_CHANGES,
        error: shownError(list.error, watcher.urlOf(id)),
      };
    }
    const { snapshot } = list;
    const outcome = outcomeOf(now, snapshot);
    if (outcome === 'would-swap') after = withSnapshot(after?.snapshots ?? [], snapshot);
    const { added, removed, changed, classes } = diffSnapshots(comparedWith(now, name), snapshot);
    const changes = { added, removed, changed: changed.map(({ tool }) => tool) };
    return { name, outcome, fingerprint: snapshot.fingerprint, classes, changes, error: null };
  });
  const order = ['failed', 'would-swap', 'would-hold'] as const;
  return {
    outcome: order.find((outcome) => found.some((one) => one.outcome === outcome)) ?? 'unchanged',
    toolsets: found.sort((a, b) => (a.name < b.name ? -1 : 1)),
    changes: after === undefined ? NO_CHANGES : diffCatalogs(before, after),
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
