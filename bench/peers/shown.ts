import { stampOf } from '../fleet/tools.js';
import { machineNow } from '../harness/clock.js';
import { tellParent } from '../harness/commands.js';

/** What a peer's next run would be shown of each toolset: the stamp in the description of its first tool. It tells the benchmark of each change. */
export class Shown {
  readonly #revisions = new Map<string, number>();

  takes(toolset: string, description: string | undefined): void {
    const stamp = stampOf(description);
    if (stamp === undefined || this.#revisions.get(toolset) === stamp.revision) return;
    this.#revisions.set(toolset, stamp.revision);
    tellParent({ event: 'served', toolset, revision: stamp.revision, at: machineNow() });
  }

  of(toolset: string): { readonly revision: number } | null {
    const revision = this.#revisions.get(toolset);
    return revision === undefined ? null : { revision };
  }
}

/** What a run was shown of a toolset that was given these tools; null where none of them is that toolset's first one. */
export function revisionIn(
  tools: readonly { readonly name: string; readonly description?: string }[],
  toolset: string,
): { readonly revision: number } | null {
  const first = tools.find(({ name, description }) => name.startsWith(`${toolset}_`) && stampOf(description) !== undefined);
  const stamp = stampOf(first?.description);
  return stamp === undefined ? null : { revision: stamp.revision };
}
