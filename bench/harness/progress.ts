import { machineNow } from './clock.js';

export interface Step {
  readonly goal: string;
  /** How long it is expected to take, in seconds. */
  readonly seconds: number;
}

/** One line of progress this often while nothing else is said. */
const REMIND_MS = 15_000;

/**
 * Seconds that are left: what the steps still to come are expected to take, stretched by how much longer than expected the finished ones took,
 * and what the current one has left.
 */
export function secondsLeft(times: { finished: readonly { expected: number; took: number }[]; ahead: number; current: Expected }): number {
  const { finished, ahead, current } = times;
  const expected = finished.reduce((sum, step) => sum + step.expected, 0);
  const took = finished.reduce((sum, step) => sum + step.took, 0);
  const stretch = expected > 0 ? took / expected : 1;
  return ahead * stretch + Math.max(0, current.expected * stretch - current.elapsed);
}

interface Expected {
  readonly expected: number;
  readonly elapsed: number;
}

/** Says what is being done and how long the rest takes, one line at a time. */
export class Progress {
  readonly #steps: readonly Step[];
  readonly #write: (line: string) => void;
  readonly #finished: { expected: number; took: number }[] = [];
  #startedAt = machineNow();
  #doing = '';
  #reminder: NodeJS.Timeout | undefined;

  constructor(steps: readonly Step[], write: (line: string) => void) {
    this.#steps = steps;
    this.#write = write;
  }

  /** The next step begins. */
  begin(title: string): void {
    this.#startedAt = machineNow();
    this.say(title);
  }

  readonly say = (doing: string): void => {
    this.#doing = doing;
    this.#line();
    clearInterval(this.#reminder);
    this.#reminder = setInterval(() => this.#line(), REMIND_MS).unref();
  };

  /** The current step is over. */
  end(outcome: string): void {
    clearInterval(this.#reminder);
    const took = (machineNow() - this.#startedAt) / 1_000;
    this.#write(`${this.#label()} ${outcome} after ${took.toFixed(0)} s`);
    this.#finished.push({ expected: this.#steps[this.#finished.length]?.seconds ?? 0, took });
  }

  #line(): void {
    const number = this.#finished.length;
    const left = secondsLeft({
      finished: this.#finished,
      ahead: this.#steps.slice(number + 1).reduce((sum, step) => sum + step.seconds, 0),
      current: { expected: this.#steps[number]?.seconds ?? 0, elapsed: (machineNow() - this.#startedAt) / 1_000 },
    });
    this.#write(`${this.#label()} ${this.#doing} — ${timeText(left)} left`);
  }

  #label(): string {
    const number = this.#finished.length;
    return `[${number + 1}/${this.#steps.length} ${this.#steps[number]?.goal ?? ''}]`;
  }
}

function timeText(seconds: number): string {
  return seconds < 90 ? `about ${Math.round(seconds)} s` : `about ${Math.round(seconds / 60)} min`;
}
