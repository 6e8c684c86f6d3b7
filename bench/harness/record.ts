import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { ScenarioResult } from './result.js';

/** Where and how a result was measured. */
export interface Origin {
  /** The day, `2026-11-30`. */
  readonly date: string;
  /** What was typed. */
  readonly command: string;
  readonly rounds: number;
  readonly seed: number;
  readonly node: string;
  readonly system: string;
  readonly cores: number;
  readonly processor: string;
  readonly memoryGb: number;
  /** The product's version, and its commit where that is known. */
  readonly product: string;
  /** Versions of the contestants by name. */
  readonly contestants: Readonly<Record<string, string>>;
}

export interface RecordedResult extends ScenarioResult {
  readonly origin: Origin;
}

/** The latest result of each goal. A file keeps it, and the report is made from that file. */
export type BenchRecord = readonly RecordedResult[];

/** Reads a record; a file that does not exist yet holds no results. */
export function readRecord(file: string): BenchRecord {
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as BenchRecord) : [];
}

/** Puts a result in the place of that goal's earlier one, and keeps the goals in order. */
export function withResult(record: BenchRecord, result: RecordedResult): BenchRecord {
  const others = record.filter(({ goal }) => goal !== result.goal);
  return [...others, result].sort((a, b) => numberOf(a.goal) - numberOf(b.goal));
}

/** Writes a record. Figures keep four significant digits: more than that is noise. */
export function writeRecord(file: string, record: BenchRecord): void {
  mkdirSync(dirname(file), { recursive: true });
  const rounded = (_key: string, value: unknown) =>
    typeof value === 'number' && !Number.isInteger(value) ? Number(value.toPrecision(4)) : value;
  writeFileSync(file, `${JSON.stringify(record, rounded, 1)}\n`);
}

function numberOf(goal: string): number {
  return Number(goal.replace(/\D+/g, ''));
}
