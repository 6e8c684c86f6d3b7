import type { Logger } from './ports.js';

/** A logger that says nothing: the library logs only through the logger that it is given (CONTRACT.md 12.3). */
export const silentLogger: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};
