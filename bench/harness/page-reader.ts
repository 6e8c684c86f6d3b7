import { Agent, type IncomingHttpHeaders, request } from 'node:http';
import { machineNow } from './clock.js';

export interface ReadPage {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** From the request to the last byte, in milliseconds. */
  readonly tookMs: number;
}

/** Reads one page after another on one connection. */
export class PageReader {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });
  readonly #url: string;

  constructor(url: string) {
    this.#url = url;
  }

  read(headers: Readonly<Record<string, string>> = {}): Promise<ReadPage> {
    const startedAt = machineNow();
    return new Promise((resolve, reject) => {
      const asked = request(this.#url, { agent: this.#agent, headers }, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const tookMs = machineNow() - startedAt;
          resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks).toString('utf8'), tookMs });
        });
      });
      asked.on('error', reject);
      asked.end();
    });
  }

  /** How long each of so many reads took that ended with this status. */
  async times(count: number, { status, headers }: { status: number; headers?: Readonly<Record<string, string>> }): Promise<number[]> {
    const times: number[] = [];
    for (let number = 0; number < count; number++) {
      const page = await this.read(headers);
      if (page.status !== status) throw new Error(`${this.#url} answered ${page.status}, not ${status}.`);
      times.push(page.tookMs);
    }
    return times;
  }

  close(): void {
    this.#agent.destroy();
  }
}
