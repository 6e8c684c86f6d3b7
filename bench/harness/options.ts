import { parseArgs } from 'node:util';

/** What the command line asks for. */
export interface BenchOptions {
  readonly mode: 'quick' | 'full';
  /** The goals to measure (`P1`, `P5`); all of them where this is empty. */
  readonly only: readonly string[];
  readonly rounds: number;
  readonly seed: number;
  /** Measures the installed peers too. */
  readonly peers: boolean;
  /** The file that the results are added to; undefined writes none. */
  readonly out: string | undefined;
}

/** Where the report's figures are kept. */
export const RECORD_FILE = 'docs/benchmarks.json';

/** Reads the arguments: `--quick --peers --only P1,P5 --rounds 3 --seed 7 --out FILE`. Throws for an unknown one and for a number that is none. */
export function readOptions(args: readonly string[]): BenchOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      quick: { type: 'boolean', default: false },
      peers: { type: 'boolean', default: false },
      only: { type: 'string', default: '' },
      rounds: { type: 'string' },
      seed: { type: 'string', default: '1' },
      out: { type: 'string' },
    },
  });
  const mode = values.quick ? 'quick' : 'full';
  return {
    mode,
    only: values.only.toUpperCase().split(',').filter(Boolean),
    rounds: wholeNumber('rounds', values.rounds ?? (mode === 'quick' ? '1' : '3')),
    seed: wholeNumber('seed', values.seed),
    peers: values.peers,
    // A quick run is a check, and its figures are none for the report.
    out: values.out ?? (mode === 'full' ? RECORD_FILE : undefined),
  };
}

function wholeNumber(name: string, text: string): number {
  if (!/^[1-9]\d*$/.test(text)) throw new Error(`--${name} takes a whole number from 1 on, not "${text}".`);
  return Number(text);
}
