import { readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startFleet } from '../harness/fleet.js';
import { startLoad } from '../load/load.js';
import { withContestant } from '../load/measure.js';
import { HAND_WRITTEN, OUR_RUNS } from '../load/run-contestant.js';
import { startModel } from '../model/model.js';
import { table } from '../report/markdown.js';
import { type CpuProfile, sharesOf } from './owners.js';
import { PROBE, runOwner } from './run-owners.js';

/**
 * Writes bench/report/runs-profile.md: where the CPU time of a run goes, in the service and in the route written by hand. The profiles
 * themselves stay in the system's folder for temporary files, for Chrome's developer tools.
 */
const PAGE = 'bench/report/runs-profile.md';
const LOAD = { concurrent: 16, forMs: 6_000, turn: 'tool' } as const;

const fleet = await startFleet({ toolsets: 1 });
const load = startLoad();
const model = await startModel();
try {
  const columns = [];
  for (const contestant of [OUR_RUNS, HAND_WRITTEN]) {
    const file = join(tmpdir(), `runs-${contestant.name}.cpuprofile`);
    columns.push(
      await withContestant(contestant, { bench: { fleet, load, model }, warmUpMs: 6_000 }, async ({ process, target }) => {
        await process.startProfile();
        await load.run({ ...LOAD, target });
        await process.stopProfile(file);
        const cpuBefore = await process.cpuMs();
        const { complete } = await load.run({ ...LOAD, target });
        const shares = sharesOf(JSON.parse(readFileSync(file, 'utf8')) as CpuProfile, runOwner, new Set([PROBE]));
        return { shares: new Map(shares), cpuMs: ((await process.cpuMs()) - cpuBefore) / complete };
      }),
    );
    process.stderr.write(`${file}\n`);
  }
  writeFileSync(PAGE, pageOf(columns));
} finally {
  await Promise.all([load.stop(), model.stop(), fleet.stop()]);
}

function pageOf(columns: readonly { readonly shares: ReadonlyMap<string, number>; readonly cpuMs: number }[]): string {
  const owners = [...new Set(columns.flatMap(({ shares }) => [...shares.keys()]))];
  const percent = (share: number) => (share < 0.0005 ? '–' : `${(share * 100).toFixed(1)} %`);
  const rows = owners
    .map((owner) => [owner, ...columns.map(({ shares }) => percent(shares.get(owner) ?? 0))])
    .filter(([, ...cells]) => cells.some((cell) => cell !== '–'));
  return `### A run

Sampled CPU profiles of ${LOAD.concurrent} runs at once, each a turn with a tool call (two requests to the model, one tool call, an answer of 21 tokens), with a model that answers at once.
What Node does on somebody's behalf counts for that somebody. Made by \`npm run bench:build && node bench/dist/bench/profile/runs.js\`.

${table(['who', OUR_RUNS.name, HAND_WRITTEN.name], rows)}

CPU time per run, without the profiler: ${columns.map(({ cpuMs }, number) => `${cpuMs.toFixed(1)} ms (${[OUR_RUNS, HAND_WRITTEN][number]?.name})`).join(', ')}.
`;
}
