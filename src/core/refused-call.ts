import { CodedError } from './errors.js';

/**
 * A toolset refused a tool call with a JSON-RPC error. Its text is meant for the caller, as a tool's own result is: it is how a
 * model learns which argument was wrong.
 */
export class RefusedCall extends CodedError {
  /** What the toolset said, bounded, without any credential of the call. */
  readonly said: string;

  constructor(
    said: string,
    details: { readonly toolset: string; readonly tool: string; readonly rpcCode: number; readonly cause: unknown },
  ) {
    const { toolset, tool, rpcCode, cause } = details;
    super('TOOLSET_PROTOCOL_ERROR', `The tool "${tool}" answered error ${rpcCode}: ${said}`, { toolset, cause });
    this.said = said;
  }
}

/** Shorter header values are no credentials, and removing them would garble the text. */
const SHORTEST_CREDENTIAL = 6;

/** The text without the credentials in these header values, of which servers like to repeat the ones that they refuse. */
export function withoutCredentials(text: string, headerValues: readonly string[]): string {
  let cleaned = text;
  // The last word of `Bearer …` and of its kind is the credential itself.
  const secrets = headerValues
    .flatMap((value) => [value.trim(), value.trim().split(' ').at(-1) ?? ''])
    .filter(({ length }) => length >= SHORTEST_CREDENTIAL);
  for (const secret of secrets.sort((a, b) => b.length - a.length)) cleaned = cleaned.replaceAll(secret, '[removed]');
  return cleaned;
}
