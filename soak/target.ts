import { setTimeout as sleep } from 'node:timers/promises';
import { type SdkEra, type SdkToolset, startSdkToolset } from '../tests/support/sdk-toolset.js';
import { startProxy, type TcpProxy } from '../tests/support/tcp-proxy.js';
import type { TestTool } from '../tests/support/toolset-parts.js';

export const ERAS: readonly SdkEra[] = ['legacy', 'stateless', 'modern', 'both'];

/** One toolset of the fleet, behind a proxy of its own, and what the service should show of it. */
export class Target {
  readonly name: string;
  readonly toolset: SdkToolset;
  readonly proxy: TcpProxy;
  /** Counts the changes of its tools; it stands in every description. */
  revision = 0;
  era: SdkEra;
  /** Whether the index names it. */
  listed = true;
  /** True while something is being done to it; then nothing is expected of the service. */
  busy = false;
  /** Since when the service could know what it should show; undefined once it shows it. */
  since: number | undefined;
  /** What was done to it last. */
  what = 'start';

  private constructor(name: string, era: SdkEra, parts: { toolset: SdkToolset; proxy: TcpProxy }) {
    this.name = name;
    this.era = era;
    this.toolset = parts.toolset;
    this.proxy = parts.proxy;
  }

  static async start(name: string, era: SdkEra): Promise<Target> {
    const toolset = await startSdkToolset({ era, name, tools: toolsOf(name, 0) });
    return new Target(name, era, { toolset, proxy: await startProxy(toolset.port) });
  }

  get url(): string {
    return `${this.proxy.origin}/mcp`;
  }

  /** The tools of the next revision. */
  nextTools(): readonly TestTool[] {
    this.revision += 1;
    return toolsOf(this.name, this.revision);
  }

  /** What `GET /connections` should say of its first tool; undefined where it should say nothing. */
  get expected(): string | undefined {
    return this.listed ? describe(this.name, this.revision) : undefined;
  }
}

/** An odd revision has one tool more than an even one, so that tools come and go while runs use them. */
function toolsOf(name: string, revision: number): readonly TestTool[] {
  const tool = (suffix: string): TestTool => ({
    name: `${name}_${suffix}`,
    description: describe(name, revision),
    inputSchema: { type: 'object', properties: { ms: { type: 'number' } } },
    async run({ ms }, { signal }) {
      // A call that is cancelled need not wait any longer.
      await sleep(Number(ms), undefined, { signal }).catch(() => undefined);
      return `revision ${revision}`;
    },
  });
  return ['a', 'b', ...(revision % 2 === 1 ? ['odd'] : [])].map(tool);
}

function describe(name: string, revision: number): string {
  return `Revision ${revision} of ${name}`;
}
