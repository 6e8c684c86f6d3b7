import type { Clock } from '../core/ports.js';

/** Where a command writes. Lines have no line break of their own. */
export interface Terminal {
  /** What was asked for: standard output. */
  out(line: string): void;
  /** What a person should know besides: standard error. */
  note(line: string): void;
  /** Whether standard output shows colours. */
  readonly colours: boolean;
}

/** What every command is given. */
export interface CommandContext {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly terminal: Terminal;
  readonly clock: Clock;
  /** Aborted when the user ends the command. */
  readonly signal: AbortSignal;
  /** How the command introduces itself to MCP servers. */
  readonly version: string;
}

/** The command cannot do what it was asked to; the message is for the person at the terminal. */
export class CommandFailure extends Error {
  /** `away`: nothing answered, or a 5xx; the same request may succeed later. `refused`: it will not. */
  readonly kind: 'away' | 'refused';
  /** The HTTP status that was answered, if one was. */
  readonly status: number | undefined;

  constructor(kind: CommandFailure['kind'], message: string, { cause, status }: { cause?: unknown; status?: number } = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'CommandFailure';
    this.kind = kind;
    this.status = status;
  }
}

/** Resolves after `delayMs`; rejects with the signal's reason when that is aborted first. */
export function pause(clock: Clock, delayMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const cancel = clock.after(delayMs, () => {
      signal.removeEventListener('abort', giveUp);
      resolve();
    });
    const giveUp = (): void => {
      cancel();
      reject(signal.reason);
    };
    signal.addEventListener('abort', giveUp, { once: true });
  });
}

export interface TimeLimit {
  /** Aborted when the outer signal is, or when the time is over. */
  readonly signal: AbortSignal;
  /** Whether the time is over. */
  readonly isOver: boolean;
  /** Lifts the limit. */
  cancel(): void;
}

/** Bounds what is done with the signal to `limitMs`. */
export function limitTime(clock: Clock, limitMs: number, outer: AbortSignal): TimeLimit {
  const over = new AbortController();
  const cancel = clock.after(limitMs, () => over.abort());
  return {
    signal: AbortSignal.any([outer, over.signal]),
    cancel,
    get isOver() {
      return over.signal.aborted;
    },
  };
}
