import { existsSync, readFileSync } from 'node:fs';
import { type RunContestant, runContestantOf } from '../load/run-contestant.js';
import { PEER_FOLDERS } from './all.js';

export const COPILOTKIT = "CopilotKit's runtime";
export const LANGGRAPH_API = 'langgraph-api';

const KNOWN: readonly { folder: string; packageName: string; contestant: (version: string, script: string) => RunContestant }[] = [
  {
    folder: 'copilotkit-runtime',
    packageName: '@copilotkit/runtime',
    contestant: (version, script) =>
      runContestantOf({
        name: COPILOTKIT,
        version,
        script,
        path: '/api/copilotkit/agent/default/run',
        form: 'ag-ui',
        env: { COPILOTKIT_TELEMETRY_DISABLED: 'true', DO_NOT_TRACK: '1' },
      }),
  },
  {
    folder: 'langgraph-api',
    packageName: '@langchain/langgraph-api',
    contestant: (version, script) =>
      runContestantOf({ name: LANGGRAPH_API, version, script, path: '', form: 'langgraph', env: { LANGSMITH_TRACING: 'false' } }),
  },
];

/** The installed peers that serve runs over HTTP. */
export function installedRunPeers(): readonly RunContestant[] {
  return KNOWN.flatMap(({ folder, packageName, contestant }) => {
    const manifest = `${PEER_FOLDERS}${folder}/node_modules/${packageName}/package.json`;
    if (!existsSync(manifest)) return [];
    const { version } = JSON.parse(readFileSync(manifest, 'utf8')) as { version: string };
    return [contestant(`${packageName} ${version}`, `${PEER_FOLDERS}${folder}/main.js`)];
  });
}
