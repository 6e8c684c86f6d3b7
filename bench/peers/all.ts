import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Contestant } from '../harness/contestant.js';
import { contestantOf } from '../harness/contestant-process.js';
import { bounded } from './bounded.js';
import { newerNode } from './node-22.js';

interface Peer {
  readonly folder: string;
  readonly name: string;
  /** The package whose version the report names. */
  readonly package: string;
  readonly cannot?: Contestant['cannot'];
  /** It is not told of changes and lists for each run: it is asked what a run is shown. */
  readonly lists?: 'for each run';
  /** It does not run on Node 20. */
  readonly node?: 'newer';
}

/** Each peer was watched for three minutes, in which it listed nothing by itself. */
const NO_POLL = 'lists no toolset again that announces nothing';
const ONLY_FOR_RUNS = 'lists for runs only';
/** Found by stopping one of three toolsets for 1.5 s and starting it again with other tools. */
const EVERY_RUN_FAILS =
  'while a toolset is down every run fails; afterwards a run sees the new tools of a 2026-era server, but with a 2025-era one that has lost its sessions every run goes on to fail';
/** Found in the same way, with 0.5, 3 and 10 s. Measured among many outages at once, the lists that others ask for would be counted as its recovery. */
const NOT_HEARD_AGAIN =
  'a 2026-era server that was down is never listened to again, and its new tools are not shown; a 2025-era one, which it lists for each run, is shown by the next run after it is back';
const ONLY_2025 = 'speaks the protocol of 2025 only';

/** Peers whose tools can be looked at. Those that only answer runs are measured, and named, by the scenario P9. */
const PEERS: readonly Peer[] = [
  {
    folder: 'langchain-adapters',
    name: 'LangChain adapters with a hook',
    package: '@langchain/mcp-adapters',
    cannot: { modern: ONLY_2025, P6: NO_POLL },
  },
  { folder: 'mcp-sdk', name: 'MCP SDK, listChanged', package: '@modelcontextprotocol/client', cannot: { P6: NO_POLL } },
  {
    folder: 'mcp-sdk-v1',
    name: 'MCP SDK v1, listChanged',
    package: '@modelcontextprotocol/sdk',
    cannot: { modern: ONLY_2025, P6: NO_POLL },
  },
  {
    folder: 'mastra',
    name: 'Mastra',
    package: '@mastra/mcp',
    lists: 'for each run',
    node: 'newer',
    cannot: { P4: NOT_HEARD_AGAIN, P6: ONLY_FOR_RUNS },
  },
  {
    folder: 'openai-agents',
    name: 'OpenAI Agents',
    package: '@openai/agents',
    lists: 'for each run',
    cannot: { P4: EVERY_RUN_FAILS, P6: ONLY_FOR_RUNS },
  },
  {
    folder: 'ai-sdk',
    name: 'AI SDK',
    package: '@ai-sdk/mcp',
    lists: 'for each run',
    node: 'newer',
    cannot: { P4: EVERY_RUN_FAILS, P6: ONLY_FOR_RUNS },
  },
  { folder: 'mcp-use', name: 'mcp-use', package: 'mcp-use', cannot: { modern: ONLY_2025, P6: NO_POLL } },
];

/** The folders of the peers in the sources; each has a `package.json`, a lock file and a `main.js` of its own. */
export const PEER_FOLDERS = fileURLToPath(new URL('../../../peers/', import.meta.url));

/** The peers that `npm run bench:peers` has installed, each in a folder of its own. */
export function installedPeers(): readonly Contestant[] {
  return PEERS.flatMap(({ folder, name, package: of, cannot, lists, node: wanted }) => {
    const described = `${PEER_FOLDERS}${folder}/node_modules/${of}/package.json`;
    const node = wanted === 'newer' ? newerNode(PEER_FOLDERS) : process.execPath;
    if (!existsSync(described) || node === undefined) return [];
    const { version } = JSON.parse(readFileSync(described, 'utf8')) as { version: string };
    return [
      bounded(
        contestantOf({
          name,
          version: `${of} ${version}`,
          ...(lists === undefined && { tellsChanges: true }),
          script: `${PEER_FOLDERS}${folder}/main.js`,
          node,
          ...(cannot !== undefined && { cannot }),
        }),
      ),
    ];
  });
}
