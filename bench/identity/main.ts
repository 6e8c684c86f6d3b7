import type { Snapshot } from '../../src/core/snapshot.js';
import { toolsOf } from '../fleet/tools.js';
import { machineNow } from '../harness/clock.js';
import { answerCommands, liveWithParent } from '../harness/commands.js';
import type { IdentityTimes } from '../harness/identity.js';

/**
 * Takes the identity of a changed toolset as a round does, in a process of its own: the functions of the built package, called with what a
 * list brings. The floor is the least that could tell a change: the JSON text of what was listed, hashed, and the hash of all toolsets' hashes.
 */
const built = new URL('../../../../dist/core/', import.meta.url);
const { takeSnapshot } = (await import(new URL('snapshot.js', built).href)) as typeof import('../../src/core/snapshot.js');
const { fingerprint, fingerprintOfCatalog } = (await import(
  new URL('fingerprint.js', built).href
)) as typeof import('../../src/core/fingerprint.js');
const { sha256 } = (await import(new URL('tool-digest.js', built).href)) as typeof import('../../src/core/tool-digest.js');

answerCommands({
  measure({ toolsets, tools, changes }: { toolsets: number; tools: number; changes: number }): IdentityTimes {
    const listed = (number: number, revision: number) =>
      JSON.parse(JSON.stringify(toolsOf(`t${number}`, { count: tools, revision }))) as Record<string, unknown>[];
    const take = (number: number, list: Record<string, unknown>[], previous?: Snapshot) =>
      takeSnapshot({
        endpoint: { name: `t${number}`, url: `http://127.0.0.1:${10_000 + number}/mcp`, credentialHeaders: [] },
        list: { tools: list, instructions: undefined },
        ...(previous !== undefined && { previous }),
      });
    const snapshots = Array.from({ length: toolsets }, (_, number) => take(number, listed(number, 0)));
    const texts = snapshots.map(({ tools: held }) => sha256(JSON.stringify(held)));
    const times = { changed: [] as number[], unchanged: [] as number[], whole: [] as number[], floor: [] as number[] };
    for (let change = 0; change < changes; change++) {
      const number = change % toolsets;
      const same = JSON.parse(JSON.stringify(snapshots[number]?.tools)) as Record<string, unknown>[];
      times.unchanged.push(timeOf(() => take(number, same, snapshots[number])));
      const list = listed(number, change + 1);
      times.changed.push(
        timeOf(() => {
          snapshots[number] = take(number, list, snapshots[number]);
          fingerprintOfCatalog(snapshots);
        }),
      );
      const other = listed(number, change + 1);
      times.floor.push(
        timeOf(() => {
          texts[number] = sha256(JSON.stringify(other));
          sha256(texts.join('\n'));
        }),
      );
      if (change % 20 === 0) times.whole.push(timeOf(() => fingerprint(snapshots.flatMap(({ tools: held }) => held) as never)));
    }
    return times;
  },
});
liveWithParent();

function timeOf(work: () => void): number {
  const startedAt = machineNow();
  work();
  return machineNow() - startedAt;
}
