import { readFileSync } from 'node:fs';
import { CommandFailure } from './terminal.js';

export interface TokenSource {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The variables that may hold it; the first that is set counts. */
  readonly variables: readonly string[];
  /** Counts before the environment. */
  readonly file: string | undefined;
}

export interface Token {
  readonly value: string;
  /** Where it was found, for messages: `the variable MCP_AGENT_API_TOKEN`. */
  readonly from: string;
}

/**
 * The bearer token for a service (CONTRACT.md 9.1); undefined where none is set. It is never an argument, because every user of a machine
 * sees the arguments of its processes. Throws a CommandFailure for a file that holds no token.
 */
export function findToken({ env, variables, file }: TokenSource): Token | undefined {
  if (file === undefined) {
    const found = variables.map((variable) => ({ value: env[variable]?.trim() ?? '', from: `the variable ${variable}` }));
    return found.find(({ value }) => value !== '');
  }
  let token: string;
  try {
    token = readFileSync(file, 'utf8').trim();
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown error';
    throw new CommandFailure('refused', `The token file ${JSON.stringify(file)} cannot be read (${code}).`, { cause: error });
  }
  if (!/^\S+$/.test(token)) throw new CommandFailure('refused', `The token file ${JSON.stringify(file)} does not hold one token.`);
  return { value: token, from: `the file ${JSON.stringify(file)}` };
}
