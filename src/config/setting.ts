/** Environment variables by name, as `process.env` has them. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Toolsets by name, or `*` for every toolset. */
export type NameSet = readonly string[] | '*';

/** A setting cannot be used. The message is one line that names the variable, the value and what is allowed (CONTRACT.md 10). */
export class ConfigError extends Error {
  readonly variable: string;

  constructor(variable: string, problem: string) {
    super(`${variable} ${problem}`);
    this.name = 'ConfigError';
    this.variable = variable;
  }
}

/** Longest duration that is accepted, in seconds: Node's timers take 31 bits of milliseconds. */
export const MOST_SECONDS = 2_147_483;

const SHOWN_CHARACTERS = 100;

/** The error for a value that cannot be used. The value is quoted, so that the message stays one line whatever it holds. */
export function refusal(variable: string, value: string, allowed: string): ConfigError {
  const shown = value.length > SHOWN_CHARACTERS ? `${value.slice(0, SHOWN_CHARACTERS)}…` : value;
  return new ConfigError(variable, `is ${JSON.stringify(shown)}, but must be ${allowed}.`);
}

/** The value without spaces around it; undefined when the variable is unset or blank. */
export function readText(env: Environment, variable: string): string | undefined {
  const value = env[variable]?.trim();
  return value === '' ? undefined : value;
}

export interface NumberRule {
  /** The value of an unset or blank variable. */
  readonly fallback: number;
  readonly unit: 'seconds' | 'milliseconds' | 'days';
  /** What zero means, as the end of a sentence; left out where zero is refused. */
  readonly zero?: string;
  readonly most?: number;
}

// Decimal digits only: Number() alone would also take `1e3`, `0x10`, `Infinity` and a blank.
const DECIMAL = /^\d+(\.\d+)?$/;

/** Reads a number that may have a fraction. Throws a ConfigError for anything but plain decimal digits within the bounds. */
export function readNumber(env: Environment, variable: string, rule: NumberRule): number {
  const text = readText(env, variable);
  if (text === undefined) return rule.fallback;
  const most = rule.most ?? (rule.unit === 'milliseconds' ? MOST_SECONDS * 1000 : MOST_SECONDS);
  const value = DECIMAL.test(text) ? Number(text) : Number.NaN;
  const least = rule.zero === undefined ? Number.MIN_VALUE : 0;
  if (value >= least && value <= most) return value;
  const range = rule.zero === undefined ? `more than 0 and at most ${most}` : `from 0 to ${most}`;
  const zero = rule.zero === undefined ? '' : ` (0 ${rule.zero})`;
  throw refusal(variable, text, `a plain number of ${rule.unit}, ${range}${zero}`);
}

/** Reads a whole number. Throws a ConfigError for anything else or outside of the bounds. */
export function readWhole(env: Environment, variable: string, rule: { fallback: number; least: number; most: number }): number {
  const text = readText(env, variable);
  if (text === undefined) return rule.fallback;
  const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (value >= rule.least && value <= rule.most) return value;
  throw refusal(variable, text, `a whole number from ${rule.least} to ${rule.most}`);
}

/** Reads one of several words. Throws a ConfigError for another one. */
export function readWord<Word extends string>(env: Environment, variable: string, rule: { fallback: Word; words: readonly Word[] }): Word {
  const text = readText(env, variable);
  if (text === undefined) return rule.fallback;
  const word = rule.words.find((candidate) => candidate === text.toLowerCase());
  if (word !== undefined) return word;
  throw refusal(variable, text, `one of ${rule.words.join(', ')}`);
}

/** Reads names that commas separate. Blank parts are left out. */
export function readNames(env: Environment, variable: string): readonly string[] {
  const parts = (readText(env, variable) ?? '').split(',').map((part) => part.trim());
  return [...new Set(parts.filter((part) => part !== ''))];
}

/** Reads names that commas separate, or `*`. Throws a ConfigError when `*` stands among names. */
export function readNameSet(env: Environment, variable: string): NameSet {
  const names = readNames(env, variable);
  if (!names.includes('*')) return names;
  if (names.length === 1) return '*';
  throw refusal(variable, names.join(','), 'toolset names with commas between them, or * alone');
}

/** Reads a token or key. The message of the ConfigError never shows it. */
export function readSecret(env: Environment, variable: string): string | undefined {
  const text = readText(env, variable);
  if (text !== undefined && !isHeaderSafe(text)) {
    throw new ConfigError(variable, 'is set to a value (not shown here) with spaces or characters that a request header cannot carry.');
  }
  return text;
}

/** Whether a token can be sent in an `Authorization` header: visible ASCII without spaces. */
export function isHeaderSafe(token: string): boolean {
  return /^[\x21-\x7e]+$/.test(token);
}

/** Reads an `http:` or `https:` URL without user info. Throws a ConfigError for anything else. */
export function readWebUrl(env: Environment, variable: string): string | undefined {
  const text = readText(env, variable);
  if (text === undefined) return undefined;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.username || url?.password) {
    throw new ConfigError(variable, 'is a URL (not shown here) with a user name or password in it, but must be one without.');
  }
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return text;
  throw refusal(variable, text, 'an http:// or https:// URL');
}
