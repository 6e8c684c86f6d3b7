import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { RECORD_FILE } from '../../bench/harness/options.js';
import { readRecord } from '../../bench/harness/record.js';
import { verdictOf } from '../../bench/harness/verdict.js';
import { chartOf } from '../../bench/report/chart.js';
import { panelsOf } from '../../bench/report/chart-data.js';
import { cellText, limitText, numberText, spreadText } from '../../bench/report/figures.js';
import { CHART_FOLDER, reportFiles } from '../../bench/report/files.js';
import { benchmarksPage } from '../../bench/report/page.js';
import { REASONS } from '../../bench/report/reasons.js';
import { isBetter } from '../../bench/report/summary.js';
import { SCENARIOS } from '../../bench/scenarios/all.js';
import { figure, rowOf, SAMPLE } from './sample-record.js';

const record = readRecord(RECORD_FILE);
const files = reportFiles(record);

test('docs/benchmarks.md and its charts are what npm run bench:report makes of docs/benchmarks.json', () => {
  const differing = [...files].filter(([file, text]) => !existsSync(file) || readFileSync(file, 'utf8') !== text).map(([file]) => file);
  expect(differing).toEqual([]);
  expect(readdirSync(CHART_FOLDER).sort()).toEqual(
    [...files.keys()]
      .filter((file) => file.startsWith(`${CHART_FOLDER}/`))
      .map((file) => basename(file))
      .sort(),
  );
});

test('every goal that is not met says why', () => {
  const unexplained = record.filter(({ goal, rows }) => verdictOf(rows) === 'not met' && REASONS[goal] === undefined);
  expect(unexplained.map(({ goal }) => goal)).toEqual([]);
});

test('every result is that of a scenario, and the page names the goals that have none', () => {
  const known = SCENARIOS.map(({ goal }) => goal);
  expect(record.map(({ goal }) => goal).filter((goal) => !known.includes(goal))).toEqual([]);
  expect(benchmarksPage(SAMPLE)).toContain('Without figures as yet: P2, P3, P4, P5, P6, P7, P8, P10, P11.');
});

test('numbers have three significant digits and no exponent', () => {
  expect([0, 7, 0.12345, 12.345, 999.4, 1234567, 0.00001234].map(numberText)).toEqual([
    ...['0', '7', '0.123', '12.3', '999', '1 234 567', '0.0000123'],
  ]);
  expect(numberText(Number.NaN)).toBe('—');
});

test('a figure names the least and the greatest round where they differ', () => {
  expect(spreadText(figure(5, 4, 7), 'ms')).toBe('5 ms (4–7)');
  expect(spreadText(figure(5), 'ms')).toBe('5 ms');
  expect(spreadText(figure(5), 'count')).toBe('5');
  expect(cellText({ cannot: 'is not told' }, 'ms')).toBe('is not told');
  expect(cellText(undefined, 'ms')).toBe('—');
});

test('a limit says what is asked of the figure and of the ratio', () => {
  expect(limitText(rowOf({ limit: { atMost: 5 } }))).toBe('≤ 5 ms');
  expect(limitText(rowOf({ unit: '', limit: { atMost: 1, atLeast: 1 } }))).toBe('exactly 1');
  const ratio = { to: 'floor', spread: figure(1), atMost: 1.5 };
  expect(limitText(rowOf({ limit: { atLeast: 2 }, ratio }))).toBe('≥ 2 ms and ≤ 1.5 × floor');
});

test('a peer is better with less, with more where more is asked, and where exactly one figure is right with one that is nearer to it', () => {
  expect(isBetter(figure(5), rowOf({ ours: figure(10) }))).toBe(true);
  expect(isBetter(figure(5), rowOf({ ours: figure(10), limit: { atLeast: 1 } }))).toBe(false);
  const exact = rowOf({ ours: figure(1), limit: { atMost: 1, atLeast: 1 } });
  expect(isBetter(figure(0), exact)).toBe(false);
  expect(isBetter(figure(1), { ...exact, ours: figure(3) })).toBe(true);
  expect(isBetter({ cannot: 'is not told' }, exact)).toBe(false);
});

describe('the page', () => {
  const page = benchmarksPage(SAMPLE, { capacity: 'One process serves 300 toolsets.' }, { P9: 'the model is slow.' });

  test('sums up each goal in one line, with the reason where it is not met', () => {
    const lines = page.split('\n').filter((line) => line.startsWith('| [P'));
    expect(lines).toHaveLength(2);
    expect(lines[0]).toMatch(
      /^\| \[P1\]\(#p1-fresh-from-a-change-to-the-next-run\) .*9\.4 ms \(8\.8–10\.1\) .*1\.52 × floor .*Adapters: 23 ms.* \| met \|$/,
    );
    expect(lines[1]).toMatch(/\*\*better than ours\*\* \| \*\*not met\*\* in 1 of 1 rows, because the model is slow\. \|$/);
  });

  test('gives the figures of everybody, and names those who cannot', () => {
    expect(page).toContain('| change to served, window of 0, p50, 1 toolset | ≤ 12 ms | **mcp-agent-api** | 9.4 ms (8.8–10.1) | met |');
    expect(page).toContain('|  |  | Adapters | 23 ms (17–34) |  |');
    expect(page).toContain('- Listener: is not told of changes');
    expect(page).not.toContain('| Listener | is not told of changes |');
    expect(page).toContain('|  |  | Adapters | 210 runs/s (200–215) | better than ours |');
  });

  test('says where it was measured, and by which versions', () => {
    expect(page).toContain(
      '| P1, P9 | 2026-01-01 | `npm run bench -- --rounds 3 --seed 1` | 0.1.0 (abcdef0) | v20.0.0, linux x64 | 2 cores, 16 GB, A processor |',
    );
    expect(page).toContain('| Adapters | 1.2.3 |');
    expect(page).toContain('| written by hand | Express 5 |');
  });

  test('has the texts that are written by hand, and no section without one', () => {
    expect(page).toContain('## Capacity\n\nOne process serves 300 toolsets.');
    expect(page).not.toContain('## Where the time goes');
  });
});

describe('a chart', () => {
  test('draws values that lie far apart on a logarithmic axis, and others from 0 on', () => {
    const [times, counts] = panelsOf(SAMPLE[0] ?? fail());
    expect(times?.scale).toEqual({ log: { from: 1, to: 1000 } });
    expect(counts?.scale).toBe('linear');
  });

  test('draws the limit of a ratio where the one it is a ratio to has a figure', () => {
    const [times] = panelsOf(SAMPLE[0] ?? fail());
    expect(times?.limits).toEqual([
      { row: 0, value: 12 },
      { row: 1, value: 12 },
    ]);
  });

  test('is the same for the same figures, has no background, and names everybody with a figure', () => {
    const [first, second] = SAMPLE;
    const svg = chartOf(first ?? fail());
    chartOf(second ?? fail());
    expect(chartOf(first ?? fail())).toBe(svg);
    expect(svg).not.toMatch(/fill="(?:#fff|white)/);
    const texts = [...svg.matchAll(/<text[^>]*>([^<]*)</g)].map(([, text]) => text);
    expect(texts).toEqual(expect.arrayContaining(['mcp-agent-api', 'floor (node:http)', 'Adapters', 'what the goal asks', '9.4', '900']));
    expect(texts).not.toContain('Listener');
  });
});

function fail(): never {
  throw new Error('The sample has no such result.');
}
