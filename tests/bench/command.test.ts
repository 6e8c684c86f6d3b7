import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readOptions } from '../../bench/harness/options.js';
import { Progress, secondsLeft } from '../../bench/harness/progress.js';
import { readRecord, withResult, writeRecord } from '../../bench/harness/record.js';
import { onCleanup } from '../support/cleanup.js';
import { figure, rowOf, SAMPLE } from './sample-record.js';

test('a full run takes three rounds and keeps its results; a quick one takes one round and keeps nothing', () => {
  const nothingElse = { only: [], seed: 1, peers: false };
  expect(readOptions([])).toEqual({ ...nothingElse, mode: 'full', rounds: 3, out: 'docs/benchmarks.json' });
  expect(readOptions(['--quick'])).toEqual({ ...nothingElse, mode: 'quick', rounds: 1, out: undefined });
});

test('goals, rounds, seed and file can be chosen', () => {
  expect(readOptions(['--only', 'p1,P5', '--rounds', '5', '--seed', '9', '--out', 'x.json', '--peers'])).toEqual({
    ...{ mode: 'full', only: ['P1', 'P5'], rounds: 5, seed: 9, out: 'x.json', peers: true },
  });
  expect(() => readOptions(['--rounds', 'many'])).toThrow('--rounds takes a whole number from 1 on, not "many".');
  expect(() => readOptions(['--fast'])).toThrow('--fast');
});

test('the time left stretches with what the finished steps took', () => {
  const current = { expected: 10, elapsed: 4 };
  expect(secondsLeft({ finished: [], ahead: 20, current })).toBe(26);
  expect(secondsLeft({ finished: [{ expected: 10, took: 20 }], ahead: 20, current })).toBe(56);
  expect(secondsLeft({ finished: [], ahead: 20, current: { expected: 10, elapsed: 99 } })).toBe(20);
});

test('progress names the step, what is done in it, and the time left', () => {
  const lines: string[] = [];
  const steps = [
    { goal: 'P1', seconds: 40 },
    { goal: 'P2', seconds: 300 },
  ];
  const progress = new Progress(steps, (line) => lines.push(line));
  progress.begin('Fresh');
  progress.say('round 1 of 3');
  progress.end('done');
  expect(lines).toEqual([
    '[1/2 P1] Fresh — about 6 min left',
    '[1/2 P1] round 1 of 3 — about 6 min left',
    expect.stringMatching(/^\[1\/2 P1\] done after \d+ s$/),
  ]);
});

test('a new result replaces the earlier one of its goal, and the goals stay in order', () => {
  const [first, second] = SAMPLE;
  if (first === undefined || second === undefined) throw new Error('The sample has two results.');
  const p10 = { ...second, goal: 'P10' };
  const again = { ...second, title: 'Measured again' };
  const record = [p10, second, first, again].reduce(withResult, []);
  expect(record.map(({ goal, title }) => `${goal} ${title}`)).toEqual([`P1 ${first.title}`, 'P9 Measured again', `P10 ${second.title}`]);
});

test('a record is read as it was written, but for digits that say nothing', () => {
  const folder = mkdtempSync(join(tmpdir(), 'mcp-agent-api-bench-'));
  onCleanup(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'new', 'record.json');
  const results = SAMPLE.slice(0, 1).map((result) => ({ ...result, rows: [rowOf({ ours: figure(1.234567, 1, 123456.7) })] }));
  expect(readRecord(file)).toEqual([]);
  writeRecord(file, results);
  expect(readRecord(file)[0]?.rows[0]?.ours).toEqual({ median: 1.235, min: 1, max: 123500, rounds: 3 });
  expect(readFileSync(file, 'utf8')).toContain(SAMPLE[0]?.title);
});
