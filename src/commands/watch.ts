import type { Clock } from '../core/ports.js';
import type { FeedEvent, GenerationDetail, Status } from './answers.js';
import type { WatchArguments } from './arguments.js';
import { diffLines, eventLines, numberOf, statusLines } from './event-text.js';
import { openFeed } from './feed.js';
import { Service } from './service.js';
import { type Paint, painter } from './shown-text.js';
import { type CommandContext, CommandFailure, limitTime, pause } from './terminal.js';
import { findToken } from './token.js';

const TOKENS = ['MCP_AGENT_API_ADMIN_TOKEN', 'MCP_AGENT_API_TOKEN', 'MCP_AGENT_API_REFRESH_TOKEN'] as const;

/** How long to wait before connecting again: doubling, and from the start again after a connection that worked. */
const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 10_000;

/** How long the service may take to answer. */
const ANSWER_MS = 10_000;

/** A generation is live before it is recorded, so its diff is asked for again a few times. */
const DIFF_TRIES = 5;
const DIFF_WAIT_MS = 200;

/**
 * Follows a service until the user ends it: the status first, then every event. A connection that breaks is opened again for ever, and goes on
 * after the last event that was seen. Returns the exit code: 0 after the user's interrupt, 1 when the service cannot be followed.
 */
export async function watch(options: WatchArguments, context: CommandContext): Promise<number> {
  const { terminal, clock, signal, env } = context;
  const state: Following = { lastEventId: undefined, connected: false, waitMs: FIRST_WAIT_MS };
  try {
    const token = findToken({ env, variables: TOKENS, file: options.tokenFile });
    const service = new Service({ url: options.url, token, tokenVariable: TOKENS[0] });
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
  const ended = new AbortController();
  const connecting = limitTime(clock, ANSWER_MS, AbortSignal.any([context.signal, ended.signal]));
  const { signal } = connecting;
  try {
    // The stream is open before the status is read, so that no event between the two is lost.
    const feed = await openFeed({ service, clock, lastEventId: state.lastEventId, signal });
    const status = await service.status(signal);
    connecting.cancel();
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
    // A socket that was kept from before may be dead without anybody having been told; the next try gets a new one.
    if (connecting.isOver) return new CommandFailure('away', `The service at ${service.url} does not answer.`, { cause: error });
    throw error;
  } finally {
    connecting.cancel();
    ended.abort();
  }
}

/** One JSON object a line: the status as an event of type `status`, then the events as they came. */
function jsonPrinter({ terminal }: CommandContext): Printer {
  return {
    status: (status) => terminal.out(JSON.stringify({ type: 'status', status })),
    event: async (event) => terminal.out(JSON.stringify(event)),
  };
}

function textPrinter({ terminal, clock, signal }: CommandContext, service: Service): Printer {
  const paint: Paint = painter(terminal.colours);
  const write = (lines: readonly string[]): void => {
    for (const line of lines) terminal.out(line);
  };
  return {
    status: (status) => write(statusLines(status, paint)),
    async event(event) {
      write(eventLines(event, paint));
      const number = numberOf(event);
      const detail = number === undefined ? undefined : await findGeneration(number, { service, clock, signal });
      if (detail !== undefined) write(diffLines(detail, paint));
    },
  };
}

interface Finding {
  readonly service: Service;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** What a generation changed; undefined where that cannot be had. It is an addition to what was printed already. */
async function findGeneration(number: number, { service, clock, signal }: Finding): Promise<GenerationDetail | undefined> {
  for (let tries = 1; ; tries += 1) {
    const limit = limitTime(clock, ANSWER_MS, signal);
    try {
      return await service.generation(number, limit.signal);
    } catch (error) {
      if (signal.aborted || !(error instanceof CommandFailure || limit.isOver)) throw error;
      // A toolset's token may not read definitions, and a host need not keep any.
      if (!(error instanceof CommandFailure) || error.status !== 404 || tries === DIFF_TRIES) return undefined;
    } finally {
      limit.cancel();
    }
    await pause(clock, DIFF_WAIT_MS, signal);
  }
}
