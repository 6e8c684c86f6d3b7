import { codeOf } from './error-code.js';

/** A store cannot be used from the start. The message is one line for the person who starts the service, and holds no password. */
export class StoreUnusable extends Error {
  constructor(message: string, cause?: unknown) {
    super(`MCP_AGENT_CHECKPOINT: ${message}`, cause === undefined ? undefined : { cause });
    this.name = 'StoreUnusable';
  }
}

/** What each store needs, in the major versions that it is tested with: newer ones may want a newer Node.js than this service does. */
const PACKAGES = {
  sqlite: 'better-sqlite3@12 @langchain/langgraph-checkpoint-sqlite@1',
  postgres: 'pg@8 @langchain/langgraph-checkpoint-postgres@1',
} as const;

interface Driver<Module> {
  readonly store: keyof typeof PACKAGES;
  readonly name: string;
  load(): Promise<Module>;
}

/**
 * Loads a database driver when it is needed: drivers are optional packages, so that a service without a database installs none.
 * Throws a {@link StoreUnusable} that names the package, and how to install all that the store needs.
 */
export async function loadDriver<Module>({ store, name, load }: Driver<Module>): Promise<Module> {
  try {
    return await load();
  } catch (cause) {
    const code = codeOf(cause);
    const missing = code === 'ERR_MODULE_NOT_FOUND' || code === 'MODULE_NOT_FOUND';
    const text = missing
      ? `${name}, which is not installed`
      : `${name}, which is installed but cannot be loaded (${code || 'unknown error'})`;
    throw new StoreUnusable(`this store needs the package ${text}. Install it: npm install ${PACKAGES[store]}`, cause);
  }
}
