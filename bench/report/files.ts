import { existsSync, readFileSync } from 'node:fs';
import type { BenchRecord } from '../harness/record.js';
import { chartOf } from './chart.js';
import { chartName } from './chart-name.js';
import { benchmarksPage } from './page.js';

const PAGE = 'docs/benchmarks.md';
export const CHART_FOLDER = 'docs/benchmarks';

/** Every file of the report and its text, by path from the root of the repository. */
export function reportFiles(record: BenchRecord): Map<string, string> {
  const profiles = ['bench/report/profiles.md', 'bench/report/runs-profile.md'].map(textOf).filter((text) => text !== undefined);
  const fragments = { capacity: textOf('bench/report/capacity.md'), ...(profiles.length > 0 && { profiles: profiles.join('\n') }) };
  return new Map([
    [PAGE, benchmarksPage(record, fragments)],
    ...record.map((result) => [`${CHART_FOLDER}/${chartName(result)}`, chartOf(result)] as const),
  ]);
}

function textOf(file: string): string | undefined {
  return existsSync(file) ? readFileSync(file, 'utf8') : undefined;
}
