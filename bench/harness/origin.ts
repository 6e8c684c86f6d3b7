import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { arch, availableParallelism, cpus, platform, totalmem } from 'node:os';
import { FLOOR } from './contestant-process.js';
import type { BenchOptions } from './options.js';
import type { Origin } from './record.js';
import type { BenchContext } from './scenario.js';

/** Describes this machine and this measurement. */
export function originOf(options: Omit<BenchOptions, 'out'>, peers: BenchContext['peers']): Origin {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
  const commit = commitOf();
  const contestants = [FLOOR, ...peers].map(({ name, version: its }) => [name, its] as const);
  return {
    date: new Date().toISOString().slice(0, 10),
    command: commandOf(options),
    rounds: options.rounds,
    seed: options.seed,
    node: process.version,
    system: `${platform()} ${arch()}`,
    cores: availableParallelism(),
    processor: cpus()[0]?.model.trim() ?? 'unknown',
    memoryGb: Math.round(totalmem() / 2 ** 30),
    product: commit === undefined ? version : `${version} (${commit})`,
    contestants: Object.fromEntries(contestants),
  };
}

function commandOf({ mode, only, rounds, seed, peers }: Omit<BenchOptions, 'out'>): string {
  const script = mode === 'quick' ? 'bench:quick' : peers ? 'bench:peers' : 'bench';
  const goals = only.length === 0 ? '' : ` --only ${only.join(',')}`;
  return `npm run ${script} --${goals} --rounds ${rounds} --seed ${seed}`;
}

/** The commit that is checked out, with a plus sign where the sources differ from it. */
function commitOf(): string | undefined {
  try {
    const git = (...args: string[]) => execFileSync('git', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
    return git('rev-parse', '--short', 'HEAD') + (git('status', '--porcelain', 'src') === '' ? '' : '+');
  } catch {
    // A copy without git's history has a version all the same.
    return undefined;
  }
}
