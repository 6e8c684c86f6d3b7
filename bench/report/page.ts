import type { BenchRecord } from '../harness/record.js';
import { REASONS } from './reasons.js';
import { contestantsTable, originsOf, sectionOf } from './sections.js';
import { summaryOf } from './summary.js';

/** Texts that are written by hand after reading the profiles; an absent one leaves its section out. */
export interface Fragments {
  readonly profiles?: string;
  readonly capacity?: string;
}

const INTRODUCTION = `# Benchmarks

What it costs to keep an agent current, and how that compares. This page is made from \`docs/benchmarks.json\` by \`npm run bench:report\`; what is written here by hand is lost.

- **ours** is \`dist/main.js\` as a process with default settings, asked over HTTP, unless a note says otherwise.
- **the floor** makes the same exchanges with \`node:http\` and \`JSON.parse\` alone: no SDK, no checks, no agent. It shows what the machine can do at all.
- **a peer** is another way to give an agent MCP tools, used as its own documentation tells its users to.

Everybody is measured in fresh processes, in turn, for several rounds. A figure is the median of the rounds, with the least and the greatest round in brackets. A figure whose rounds lie more than 2 × apart
is called unstable, because such a median says little. Compare the figures of one row with each other rather than with those of another machine.`;

const HOW = `\`npm run bench:quick\` checks the counts and some generous ratios in at most 90 s; it runs with every change. \`npm run bench\` measures everything but the peers in about twenty minutes,
\`npm run bench:peers\` installs the peers, each in a folder of its own, and measures them too, and \`npm run bench:report\` makes this page from the results. \`npm run bench -- --only P1,P5 --rounds 5\` measures some goals anew and keeps the others' figures.`;

/** There are eleven goals, P1 to P11. */
const GOALS = Array.from({ length: 11 }, (_, number) => `P${number + 1}`);

/** The goals that no result tells of yet. */
export function goalsWithoutFigures(record: BenchRecord): string[] {
  return GOALS.filter((goal) => !record.some((result) => result.goal === goal));
}

/** The text of docs/benchmarks.md. */
export function benchmarksPage(record: BenchRecord, { profiles, capacity }: Fragments = {}, reasons = REASONS): string {
  const missing = goalsWithoutFigures(record);
  const blocks = [
    INTRODUCTION,
    '## Summary',
    summaryOf(record, reasons),
    ...(missing.length === 0 ? [] : [`Without figures as yet: ${missing.join(', ')}.`]),
    ...record.map(sectionOf),
    ...(profiles === undefined ? [] : ['## Where the time goes', profiles.trim()]),
    ...(capacity === undefined ? [] : ['## Capacity', capacity.trim()]),
    '## How it was measured',
    originsOf(record),
    contestantsTable(record),
    HOW,
  ];
  return `${blocks.join('\n\n')}\n`;
}
