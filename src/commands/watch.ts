import type { FeedEvent, Status } from './answers.js';
import type { WatchArguments } from './arguments.js';
import { diffLines, eventLines, numberOf, statusLines } from './event-text.js';
import { openFeed } from './feed.js';
import { Service } from './service.js';
import { type Paint, painter } from './shown-text.js';
import { type CommandContext, CommandFailure, pause } from './terminal.js';
import { findToken } from './token.js';

const TOKENS = ['MCP_AGENT_API_ADMIN_TOKEN', 'MCP_AGENT_API_TOKEN'];

/** How long to wait before connecting again: doubling, and from the start again after a connection that worked. */
const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 10_000;

/**
 * Follows a service until the user ends it: the status first, then every event. A connection that breaks is opened again for ever, and goes on
 * after the last event that was seen. Returns the exit code: 0 after the user's interrupt, 1 when the service cannot be followed.
 */
export async function watch(options: WatchArguments, context: CommandContext): Promise<number> {
  const { terminal, clock, signal, env } = context;
  const state: Following = { lastEventId: undefined, connected: false, waitMs: FIRST_WAIT_MS };
  try {
    const service = new Service({ url: options.url, token: findToken({ env, variables: TOKENS, file: options.tokenFile }) });
    const print = options.json ? jsonPrinter(context) : textPrinter(context, service);
    for (;;) {
      const failure = await follow(state, { service, print, context });
      if (!state.connected || failure?.kind === 'refused') {
        terminal.note(failure?.message ?? 'The service ended the stream at once.');
        return 1;
      }
      if (state.waitMs === FIRST_WAIT_MS) terminal.note(`${failure?.message ?? 'The service ended the stream.'} Connecting again.`);
      await pause(clock, state.waitMs, signal);
      state.waitMs = Math.min(LONGEST_WAIT_MS, state.waitMs * 2);
    }
  } catch (error) {
    if (signal.aborted) return 0;
    if (!(error instanceof CommandFailure)) throw error;
    terminal.note(error.message);
    return 1;
  }
}

interface Following {
  lastEventId: string | undefined;
  /** Whether the service was ever followed: an address where nothing answers from the start is more likely a wrong one. */
  connected: boolean;
  waitMs: number;
}

interface Printer {
  status(status: Status): void;
  event(event: FeedEvent): Promise<void>;
}

interface Follow {
  readonly service: Service;
  readonly print: Printer;
  readonly context: CommandContext;
}

/** One connection, to its end. Returns why it ended; undefined when the service ended it. */
async function follow(state: Following, { service, print, context }: Follow): Promise<CommandFailure | undefined> {
  const { clock } = context;
  const over = new AbortController();
  const signal = AbortSignal.any([context.signal, over.signal]);
  try {
    // The stream is open before the status is read, so that no event between the two is lost.
    const feed = await openFeed({ service, clock, lastEventId: state.lastEventId, signal });
    const status = await service.status(signal);
    print.status(status);
    state.connected = true;
    state.waitMs = FIRST_WAIT_MS;
    for await (const { id, event } of feed.events) {
      await print.event(event);
      state.lastEventId = id ?? state.lastEventId;
    }
    return undefined;
  } catch (error) {
    if (error instanceof CommandFailure) return error;
    throw error;
  } finally {
    over.abort();
  }
}

/** One JSON object a line: the status as an event of type `status`, then the events as they came. */
function jsonPrinter({ terminal }: CommandContext): Printer {
  return {
    status: (status) => terminal.out(JSON.stringify({ type: 'status', status })),
    event: async (event) => terminal.out(JSON.stringify(event)),
  };
}

function textPrinter({ terminal, signal }: CommandContext, service: Service): Printer {
  const paint: Paint = painter(terminal.colours);
  const write = (lines: readonly string[]): void => {
    for (const line of lines) terminal.out(line);
  };
  return {
    status: (status) => write(statusLines(status, paint)),
    async event(event) {
      write(eventLines(event, paint));
      const number = numberOf(event);
      if (number === undefined) return;
      try {
        write(diffLines(await service.generation(number, signal), paint));
      } catch (error) {
        // The diff is an addition to what was printed already; a generation that is not recorded, or not yet, has none.
        if (!(error instanceof CommandFailure)) throw error;
      }
    },
  };
}
