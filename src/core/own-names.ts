import { ILLEGAL_IN_TOOL_NAMES, isLegalName } from './legal-name.js';

type Group = readonly { readonly original: string }[];

/** What differs between the catalog that was counted and the one that comes after it, one group of tools for each toolset. */
export interface OwnNamesChange {
  readonly from: OwnNames;
  readonly added: readonly Group[];
  readonly removed: readonly Group[];
}

/**
 * How many tools of a catalog have each own name. To count thousands of names is the dearest part of naming the tools, so the count is
 * handed on to the next catalog, which counts only the toolsets that differ (5 100 tools: 0.1 ms in place of 2 ms). A count that was handed
 * on is empty; whoever needs it once more counts all tools.
 */
export class OwnNames {
  #counts: Map<string, number> | undefined;
  #repeated = 0;
  #illegal = 0;

  private constructor(counts: Map<string, number>) {
    this.#counts = counts;
  }

  /** Counts the names of these groups, all of them or only what changed. */
  static count(groups: readonly Group[], change?: OwnNamesChange): OwnNames {
    const counts = change === undefined ? undefined : change.from.#counts;
    if (change === undefined || counts === undefined) {
      const counted = new OwnNames(new Map());
      for (const group of groups) counted.#add(group, 1);
      return counted;
    }
    const counted = new OwnNames(counts);
    counted.#repeated = change.from.#repeated;
    counted.#illegal = change.from.#illegal;
    change.from.#counts = undefined;
    for (const group of change.removed) counted.#add(group, -1);
    for (const group of change.added) counted.#add(group, 1);
    return counted;
  }

  /** Whether every name is legal and no two tools have the same one. */
  get allKept(): boolean {
    return this.#repeated === 0 && this.#illegal === 0;
  }

  /** Whether only one tool has this name. It may be asked until the count is handed on. */
  isUnique(name: string): boolean {
    return this.#counts?.get(name) === 1;
  }

  #add(group: Group, by: 1 | -1): void {
    for (const { original } of group) {
      const before = this.#counts?.get(original) ?? 0;
      if (before + by === 0) this.#counts?.delete(original);
      else this.#counts?.set(original, before + by);
      // The tools beyond the first that have a name are those that repeat it.
      if (Math.max(before, before + by) > 1) this.#repeated += by;
      if (!isLegalName(original, ILLEGAL_IN_TOOL_NAMES)) this.#illegal += by;
    }
  }
}
