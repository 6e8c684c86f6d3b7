import winston from 'winston';
import type { Clock, Logger } from './core/ports.js';

export interface LoggerOptions {
  readonly level: 'error' | 'warn' | 'info' | 'debug';
  /** `json`: one object a line, for machines. `pretty`: for people, one short line, and a line for each field where there are many. */
  readonly format: 'json' | 'pretty';
  /** Where the lines go; standard output when left out. */
  readonly stream?: NodeJS.WritableStream & { readonly isTTY?: boolean };
}

/** A logger that writes one line per entry, with the time, the level, the message and the fields (CONTRACT.md 13.1). */
export function createLogger(options: LoggerOptions): Logger {
  const stream = options.stream ?? process.stdout;
  const isColoured = stream.isTTY === true && !process.env.NO_COLOR;
  const winstonLogger = winston.createLogger({
    level: options.level,
    format: winston.format.combine(
      winston.format.timestamp(),
      winston.format.printf((entry) => (options.format === 'json' ? JSON.stringify(ordered(entry)) : pretty(entry, isColoured))),
    ),
    transports: [new winston.transports.Stream({ stream, eol: '\n' })],
  });
  const write = (level: keyof Logger) => (message: string, fields?: Record<string, unknown>) => {
    // The fields come first, so that a field called `message` or `level` cannot replace the entry's own.
    winstonLogger.log({ ...plain(fields ?? {}), level, message });
  };
  return { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') };
}

const REPEAT_WINDOW_MS = 5 * 60 * 1000;
const MOST_REMEMBERED = 5_000;

/**
 * Passes entries on, but a repeat (same message, `toolset` and `code`) only once per 5 minutes, with the number of entries
 * that were left out since in `repeats` (CONTRACT.md 13.1). Entries without both fields always pass. An `info` entry about a toolset without
 * a `code` is good news: the next trouble of that toolset is then a new change of state and no repeat.
 */
export function logOncePer5Minutes(logger: Logger, clock: Clock): Logger {
  const seen = new Map<string, { readonly toolset: string; readonly writtenAt: number; leftOut: number }>();
  const forget = (toolset: string) => {
    for (const [key, entry] of seen) if (entry.toolset === toolset) seen.delete(key);
  };
  const write = (level: keyof Logger) => (message: string, fields?: Record<string, unknown>) => {
    if (typeof fields?.toolset !== 'string' || typeof fields.code !== 'string') {
      if (level === 'info' && typeof fields?.toolset === 'string') forget(fields.toolset);
      logger[level](message, fields);
      return;
    }
    const key = JSON.stringify([message, fields.toolset, fields.code]);
    const now = clock.now();
    const earlier = seen.get(key);
    if (earlier !== undefined && now - earlier.writtenAt < REPEAT_WINDOW_MS) {
      earlier.leftOut += 1;
      return;
    }
    // Removed and added again, so that the map stays in the order of writing and its first entry is the oldest.
    seen.delete(key);
    seen.set(key, { toolset: fields.toolset, writtenAt: now, leftOut: 0 });
    if (seen.size > MOST_REMEMBERED) {
      const oldest = seen.keys().next().value;
      if (oldest !== undefined) seen.delete(oldest);
    }
    logger[level](message, earlier !== undefined && earlier.leftOut > 0 ? { ...fields, repeats: earlier.leftOut } : fields);
  };
  return { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') };
}

/** Errors have no fields of their own in JSON, so they are written as their name, code and message; a stack helps nobody in a log line. */
function plain(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => {
      if (!(value instanceof Error)) return [name, value];
      const code: unknown = 'code' in value ? value.code : undefined;
      return [name, { name: value.name, ...(typeof code === 'string' ? { code } : {}), message: value.message }];
    }),
  );
}

function ordered(entry: winston.Logform.TransformableInfo): Record<string, unknown> {
  const { timestamp, level, message, ...fields } = entry;
  return { timestamp, level, message, ...fields };
}

const COLOURS = { error: 31, warn: 33, info: 36, debug: 90 } as const;

function pretty(entry: winston.Logform.TransformableInfo, isColoured: boolean): string {
  const { timestamp, level, message, ...fields } = entry;
  const time = String(timestamp).slice(11, 23);
  const paint = (code: number, text: string) => (isColoured ? `\u001b[${code}m${text}\u001b[0m` : text);
  const colour = COLOURS[level as keyof typeof COLOURS] ?? 0;
  const data = Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${paint(90, `${name}=`)}${prettyValue(value)}`);
  const head = [paint(90, time), paint(colour, level.padEnd(5)), oneLine(String(message))];
  if (data.length <= MOST_IN_ONE_LINE) return [...head, ...data].join(' ');
  return [head.join(' '), ...data.map((field) => `    ${field}`)].join('\n');
}

/** An entry with more fields than this, as the settings at start have them, is written with one field a line. */
const MOST_IN_ONE_LINE = 20;

function prettyValue(value: unknown): string {
  if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return value.length === 0 ? '-' : oneLine(value.join(','));
  if (typeof value === 'string' && value !== '' && !/\s/.test(value)) return oneLine(value);
  return oneLine(JSON.stringify(value) ?? String(value));
}

/** Toolsets choose their names and error texts: control characters must not move the reader's cursor or fake a line. */
function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\u2028\u2029]/gu, ' ');
}
