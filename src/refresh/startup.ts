import { CodedError } from '../core/errors.js';
import type { Clock } from '../core/ports.js';
import type { Toolset } from '../core/round-state.js';
import type { ShownError } from '../core/status.js';

export interface StartupOptions {
  readonly clock: Clock;
  readonly startupSeconds: number;
  readonly readySeconds: number;
  readonly required: readonly string[] | '*';
  readonly toolsets: () => readonly Toolset[];
  /** Whether the first generation is live. */
  readonly built: () => boolean;
  readonly indexError: () => CodedError | null;
  readonly lastError: () => ShownError | null;
}

/** Decides when the start is over and when the service is ready (CONTRACT.md 11.1). Once ready, it stays ready. */
export class Startup {
  readonly #options: StartupOptions;
  #ready = false;
  #waited = false;
  #cancels: (() => void)[] = [];
  #settle: { resolve(): void; reject(error: Error): void } | undefined;

  constructor(options: StartupOptions) {
    this.#options = options;
  }

  /** Resolves when the first generation is live and every required toolset has answered; rejects after `startupSeconds`. */
  begin(): Promise<void> {
    const { clock, startupSeconds, readySeconds } = this.#options;
    return new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
      this.#cancels = [
        clock.after(readySeconds * 1_000, () => {
          this.#waited = true;
          this.check();
        }),
        clock.after(startupSeconds * 1_000, () => this.#giveUp()),
      ];
    });
  }

  /** Looks again whether the start is over; called after everything that may have changed the answer. */
  check(): void {
    const { toolsets, built } = this.#options;
    if (this.#ready || !built() || this.#missingRequired().length > 0) return;
    this.#settle?.resolve();
    this.#settle = undefined;
    if (this.#waited || toolsets().every(({ listedAt }) => listedAt !== null)) {
      this.#ready = true;
      for (const cancel of this.#cancels) cancel();
    }
  }

  abandon(): void {
    for (const cancel of this.#cancels) cancel();
    this.#settle?.reject(new CodedError('STARTUP_FAILED', 'Stopped during the start.'));
    this.#settle = undefined;
  }

  get ready(): boolean {
    return this.#ready;
  }

  /** Toolsets that failed, or have not answered yet although the service is ready. */
  failing(): string[] {
    return this.#options
      .toolsets()
      .filter(({ failure, listedAt, standing }) => standing === 'wanted' && (failure !== null || (this.#ready && listedAt === null)))
      .map(({ name }) => name)
      .sort();
  }

  #missingRequired(): string[] {
    const { required, toolsets } = this.#options;
    const answered = new Set(toolsets().flatMap(({ name, listedAt }) => (listedAt === null ? [] : [name])));
    const names = required === '*' ? toolsets().map(({ name }) => name) : required;
    return names.filter((name) => !answered.has(name));
  }

  #giveUp(): void {
    const { startupSeconds, toolsets, indexError, lastError, built } = this.#options;
    if (this.#settle === undefined) return;
    const missing = this.#missingRequired();
    const lines = toolsets().map(({ name, failure, listedAt }) => {
      const why = listedAt !== null ? 'answered' : failure === null ? 'no answer yet' : `${failure.error.code}: ${failure.error.message}`;
      return `  ${name}: ${why}`;
    });
    const index = indexError();
    if (index !== null) lines.push(`  index: ${index.code}: ${index.message}`);
    const rejected = lastError();
    if (!built() && rejected?.code === 'BUILD_FAILED') lines.push(`  agent: ${rejected.message}`);
    for (const name of missing)
      if (!toolsets().some((toolset) => toolset.name === name)) lines.push(`  ${name}: required, but not in the index`);
    this.#settle.reject(new CodedError('STARTUP_FAILED', [`Not ready after ${startupSeconds} s:`, ...lines].join('\n')));
    this.#settle = undefined;
  }
}
