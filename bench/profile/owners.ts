/** The parts of a CPU profile in Chrome's format that are read here. */
export interface CpuProfile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: { readonly functionName: string; readonly url: string };
    readonly children?: readonly number[];
  }[];
  readonly samples: readonly number[];
  /** Microseconds before each sample. */
  readonly timeDeltas: readonly number[];
}

type Frame = CpuProfile['nodes'][number]['callFrame'];

/** Whose code a function is, or undefined where it is Node's own and counts for its caller. */
export type OwnerOf = (frame: Frame) => string | undefined;

/** What a sample counts for that nobody called. */
export const NODE = 'Node itself (event loop, sockets, async hooks)';

const IDLE = '(idle)';

/** The share of the busy time of each owner, greatest first; `left` names those whose time does not count. */
export function sharesOf(profile: CpuProfile, ownerOf: OwnerOf, left: ReadonlySet<string> = new Set()): [owner: string, share: number][] {
  const byId = new Map(profile.nodes.map((node) => [node.id, node]));
  const callers = new Map(profile.nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id] as const)));
  const owners = new Map<number, string>();
  const ownerOfNode = (id: number): string => {
    const known = owners.get(id);
    if (known !== undefined) return known;
    const frame = byId.get(id)?.callFrame;
    const caller = callers.get(id);
    const owner = (frame && ownerOf(frame)) ?? (caller === undefined ? NODE : ownerOfNode(caller));
    owners.set(id, owner);
    return owner;
  };
  const times = new Map<string, number>();
  for (const [number, id] of profile.samples.entries()) {
    if (byId.get(id)?.callFrame.functionName === IDLE) continue;
    const owner = ownerOfNode(id);
    if (!left.has(owner)) times.set(owner, (times.get(owner) ?? 0) + (profile.timeDeltas[number] ?? 0));
  }
  const busy = [...times.values()].reduce((sum, time) => sum + time, 0);
  return [...times].map(([owner, time]): [string, number] => [owner, time / busy]).sort(([, a], [, b]) => b - a);
}
