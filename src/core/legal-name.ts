import { hash } from 'node:crypto';

/** The longest name that model providers accept for a tool or a property. */
const MAX_NAME = 64;
const SHORT_DIGITS = 8;
const LONG_DIGITS = 32;

/** Which characters a name may not have; the expression needs the flags `g` and `u`. */
export const ILLEGAL_IN_TOOL_NAMES = /[^A-Za-z0-9_-]/gu;
export const ILLEGAL_IN_PROPERTY_NAMES = /[^A-Za-z0-9_.-]/gu;

export interface LegalNameInput {
  readonly raw: string;
  readonly illegal: RegExp;
  /** Tells this name from all others; the hash is taken of it. */
  readonly identity: readonly string[];
}

/** Whether providers accept the name as it is. */
export function isLegalName(raw: string, illegal: RegExp): boolean {
  return raw !== '' && raw.length <= MAX_NAME && raw.search(illegal) === -1;
}

/** The name with each illegal character replaced by `_`; an overlong one is cut and ends with a short hash of its identity. */
export function legalName(input: LegalNameInput): string {
  if (isLegalName(input.raw, input.illegal)) return input.raw;
  const clean = input.raw.replace(input.illegal, '_');
  return clean !== '' && clean.length <= MAX_NAME ? clean : hashedName(input, 0);
}

/**
 * The name with a hash of its identity at the end. Attempt 0 has 8 digits; anyone can look for two names with equal short
 * hashes or take the result as a name, so every later attempt gives another name, with 32 digits.
 */
export function hashedName({ raw, illegal, identity }: LegalNameInput, attempt: number): string {
  const digits = attempt === 0 ? SHORT_DIGITS : LONG_DIGITS;
  const hex = hash('sha256', JSON.stringify(attempt === 0 ? identity : [...identity, attempt]), 'hex').slice(0, digits);
  return `${raw.replace(illegal, '_').slice(0, MAX_NAME - digits - 1)}_${hex}`;
}
