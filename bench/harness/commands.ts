/**
 * Commands between the benchmark and the processes that it starts, over Node's IPC channel: a request names a command, an
 * answer carries the same id. A process may also send events, which nobody answers.
 */
export type Commands = Record<string, (params: never) => unknown>;

interface Request {
  readonly id: number;
  readonly command: string;
  readonly params: unknown;
}

interface Answer {
  readonly answers: number;
  readonly result?: unknown;
  readonly error?: string;
}

export interface ProcessEvent {
  readonly event: string;
  readonly [field: string]: unknown;
}

const known: Commands = {};
/** Commands that came before the part of this process was loaded that answers them. */
const early: Request[] = [];
let listening = false;

/** Answers the parent's commands in this process. Several parts of one process may each answer their own; what came before them waits for them. */
export function answerCommands(commands: Commands): void {
  Object.assign(known, commands);
  if (!listening) {
    listening = true;
    process.on('message', (message) => void answer(message as Request));
  }
  for (const request of early.splice(0)) void answer(request);
}

async function answer(request: Request): Promise<void> {
  const run = known[request.command];
  if (run === undefined) {
    early.push(request);
    return;
  }
  try {
    send({ answers: request.id, result: (await run(request.params as never)) ?? null });
  } catch (error) {
    // The parent throws it where the command was given.
    send({ answers: request.id, error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
  }
}

/** Tells the parent that something happened. */
export function tellParent(event: ProcessEvent): void {
  send(event);
}

function send(message: object): void {
  // A parent that is gone needs no answer.
  if (process.connected) process.send?.(message, undefined, undefined, () => undefined);
}

export interface CommandChannel {
  send(message: object): unknown;
  on(event: 'message', listener: (message: unknown) => void): unknown;
}

/** Gives commands to one child process and hears its events. */
export class Commander {
  readonly #channel: CommandChannel;
  readonly #open = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>();
  readonly #listeners = new Set<(event: ProcessEvent) => void>();
  #nextId = 1;

  constructor(channel: CommandChannel) {
    this.#channel = channel;
    channel.on('message', (message) => this.#take(message as Partial<Answer> & Partial<ProcessEvent>));
  }

  /** Gives one command and returns its result. Rejects with the child's error, or when the child ends before it answered. */
  give<T>(command: string, params: unknown = {}): Promise<T> {
    const id = this.#nextId++;
    return new Promise<T>((resolve, reject) => {
      this.#open.set(id, { resolve: resolve as (value: unknown) => void, reject });
      this.#channel.send({ id, command, params });
    });
  }

  /** Calls `listener` for each event. Returns a function that ends this. */
  onEvent(listener: (event: ProcessEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Rejects all open commands: the child is gone. */
  end(error: Error): void {
    for (const { reject } of this.#open.values()) reject(error);
    this.#open.clear();
  }

  #take(message: Partial<Answer> & Partial<ProcessEvent>): void {
    if (message.event !== undefined) {
      for (const listener of this.#listeners) listener(message as ProcessEvent);
      return;
    }
    const waiting = message.answers === undefined ? undefined : this.#open.get(message.answers);
    if (waiting === undefined || message.answers === undefined) return;
    this.#open.delete(message.answers);
    if (message.error === undefined) waiting.resolve(message.result);
    else waiting.reject(new Error(message.error));
  }
}

/** Keeps this process alive for as long as its parent is there, and ends it then. */
export function liveWithParent(): void {
  // The probe has let go of the channel, because a service that it is loaded into must be able to end.
  process.channel?.ref();
  process.on('disconnect', () => process.exit(0));
}
