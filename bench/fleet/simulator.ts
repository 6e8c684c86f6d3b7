import { setTimeout as sleep } from 'node:timers/promises';
import { type Answer, pass } from '../../tests/support/raw-answers.js';
import type { RawEra } from '../../tests/support/raw-state.js';
import { type RawToolset, startRawToolset } from '../../tests/support/raw-toolset.js';
import type { TestResource } from '../../tests/support/toolset-parts.js';
import { machineNow } from '../harness/clock.js';
import { toolsOf } from './tools.js';

export interface SimulatedOptions {
  readonly name: string;
  readonly era: RawEra;
  readonly tools: number;
  readonly keepAliveMs: number;
  /** A `ui://` view of this many bytes, named by the first tool. */
  readonly viewBytes: number | undefined;
  /** The port to listen on; 0 is a free one. */
  readonly port: number;
  /** The revision to begin with. */
  readonly revision: number;
}

/** One toolset of the fleet: a server of tests/support that counts, delays and hangs as it is told. */
export class Simulated {
  readonly name: string;
  readonly #options: SimulatedOptions;
  readonly #counts = new Map<string, number>();
  #toolset: RawToolset | undefined;
  #port: number;
  #latencyMs = 0;
  /** While set, lists and everything else are answered only when it resolves. */
  #hang: { readonly over: Promise<void>; end(): void } | undefined;
  #revision: number;
  #firstRequestAt: number | undefined;
  #firstListedAt: number | undefined;

  constructor(options: SimulatedOptions) {
    this.name = options.name;
    this.#options = options;
    this.#port = options.port;
    this.#revision = options.revision;
  }

  /** Starts to listen, on the same port as before where it has listened before, with the tools of the current revision. */
  async start(): Promise<void> {
    const { era, keepAliveMs } = this.#options;
    this.#toolset = await startRawToolset({ era, keepAliveMs, port: this.#port, tools: this.#tools(), resources: this.#resources() });
    this.#port = this.#toolset.port;
    this.#toolset.on('*', this.#answer);
  }

  get revision(): number {
    return this.#revision;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}/mcp`;
  }

  /** Changes the first tool's description, and announces it where that is asked for. Returns when that was, by the machine's clock. */
  change({ announce }: { announce: boolean }): { revision: number; changedAt: number } {
    this.#revision++;
    const changedAt = machineNow();
    if (this.#toolset !== undefined) this.#toolset.tools = this.#tools();
    if (announce) this.announce();
    return { revision: this.#revision, changedAt };
  }

  announce(): void {
    this.#toolset?.push();
  }

  /** Changes the content of its view, and announces that. */
  changeView(): void {
    this.#revision++;
    if (this.#toolset === undefined) return;
    this.#toolset.resources = this.#resources();
    this.#toolset.push({ method: 'notifications/resources/list_changed' });
  }

  /** Ends as a killed process does: every connection is reset and the port is closed. The next start has a new revision. */
  async kill(): Promise<void> {
    await this.#toolset?.close();
    this.#toolset = undefined;
  }

  /** Comes back on the same port with changed tools and without its sessions. Returns when it listened, by the machine's clock. */
  async restart(): Promise<{ revision: number; listeningAt: number }> {
    this.#revision++;
    await this.start();
    return { revision: this.#revision, listeningAt: machineNow() };
  }

  /** Every answer is this much later, in milliseconds. */
  delay(ms: number): void {
    this.#latencyMs = ms;
  }

  /** True: nothing is answered any more. False: everything that waits is answered now. Returns when that was. */
  hang(on: boolean): number {
    if (on) {
      let end = (): void => undefined;
      const over = new Promise<void>((resolve) => {
        end = resolve;
      });
      this.#hang ??= { over, end };
    } else {
      this.#hang?.end();
      this.#hang = undefined;
    }
    return machineNow();
  }

  /** Requests so far by JSON-RPC method, or by HTTP method where there is none. */
  counts(): Record<string, number> {
    return Object.fromEntries(this.#counts);
  }

  resetCounts(): void {
    this.#counts.clear();
  }

  /** When the first request came and when the first list was answered, by the machine's clock; null for what has not happened. */
  firsts(): { requestAt: number | null; listedAt: number | null } {
    return { requestAt: this.#firstRequestAt ?? null, listedAt: this.#firstListedAt ?? null };
  }

  /** Sessions that the server remembers, open connections and open notification streams. */
  open(): { sessions: number; sockets: number; streams: number } {
    const toolset = this.#toolset;
    return {
      sessions: toolset?.sessions.size ?? 0,
      sockets: toolset?.openSockets() ?? 0,
      streams: toolset?.streams.size ?? 0,
    };
  }

  readonly #answer: Answer = async (exchange) => {
    this.#firstRequestAt ??= machineNow();
    this.#counts.set(exchange.what, (this.#counts.get(exchange.what) ?? 0) + 1);
    // The log of the requests is for tests; here it would grow for hours.
    if (this.#toolset !== undefined) this.#toolset.requests.length = 0;
    await this.#hang?.over;
    if (this.#latencyMs > 0) await sleep(this.#latencyMs);
    await pass(exchange);
    if (exchange.what === 'tools/list') this.#firstListedAt ??= machineNow();
  };

  #tools(): Record<string, unknown>[] {
    const tools = toolsOf(this.name, { count: this.#options.tools, revision: this.#revision });
    const [first] = tools;
    if (this.#options.viewBytes !== undefined && first !== undefined) first._meta = { ui: { resourceUri: this.#viewUri } };
    return tools;
  }

  get #viewUri(): string {
    return `ui://${this.name}/view.html`;
  }

  #resources(): TestResource[] {
    const bytes = this.#options.viewBytes;
    if (bytes === undefined) return [];
    const head = `<!doctype html><title>${this.name}</title><p>Revision ${this.#revision}</p><script>`;
    // Text that compresses about as well as a bundled script does.
    let text = head;
    for (let line = 0; text.length < bytes; line++)
      text += `const value${line}=${(line * 7919) % 9973};update(${line % 13},"row ${line}");`;
    return [{ uri: this.#viewUri, mimeType: 'text/html;profile=mcp-app', text: text.slice(0, bytes) } as TestResource];
  }
}
