import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Contestant } from '../harness/contestant.js';
import { contestantOf } from '../harness/contestant-process.js';

interface Peer {
  readonly folder: string;
  readonly name: string;
  /** The package whose version the report names. */
  readonly package: string;
  readonly cannot?: Contestant['cannot'];
}

const ONLY_2025 = 'speaks the protocol of 2025 only';

/** Peers that are told of changes. Those that only answer runs are measured, and named, by the scenario P9. */
const PEERS: readonly Peer[] = [
  {
    folder: 'langchain-adapters',
    name: 'LangChain adapters with a hook',
    package: '@langchain/mcp-adapters',
    cannot: { modern: ONLY_2025 },
  },
  { folder: 'mcp-sdk', name: 'MCP SDK, listChanged', package: '@modelcontextprotocol/client' },
  { folder: 'mcp-sdk-v1', name: 'MCP SDK v1, listChanged', package: '@modelcontextprotocol/sdk', cannot: { modern: ONLY_2025 } },
];

/** The folders of the peers in the sources; each has a `package.json`, a lock file and a `main.js` of its own. */
export const PEER_FOLDERS = fileURLToPath(new URL('../../../peers/', import.meta.url));

/** The peers that `npm run bench:peers` has installed, each in a folder of its own. */
export function installedPeers(): readonly Contestant[] {
  return PEERS.flatMap(({ folder, name, package: of, cannot }) => {
    const described = `${PEER_FOLDERS}${folder}/node_modules/${of}/package.json`;
    if (!existsSync(described)) return [];
    const { version } = JSON.parse(readFileSync(described, 'utf8')) as { version: string };
    return [
      contestantOf({
        name,
        version: `${of} ${version}`,
        tellsChanges: true,
        script: `${PEER_FOLDERS}${folder}/main.js`,
        ...(cannot !== undefined && { cannot }),
      }),
    ];
  });
}
