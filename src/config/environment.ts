import { readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { ConfigError, type Environment } from './setting.js';

/**
 * The environment together with the `.env` file of the working directory. What the environment sets wins, also when it sets
 * a blank value. A missing file is no error. Throws a ConfigError when the file is there and cannot be read.
 */
export function readEnvironment(options: { readonly env?: Environment; readonly file?: string } = {}): Environment {
  const { env = process.env, file = '.env' } = options;
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown error';
    // Most deployments have no such file and set everything in the environment.
    if (code === 'ENOENT') return env;
    throw new ConfigError(file, `cannot be read (${code}).`);
  }
  return { ...parseEnv(text), ...env };
}
