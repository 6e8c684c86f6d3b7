import type { DemoToolsets } from './toolsets/demo-toolsets.js';

const FIRST_QUESTION = 'What does the manual say about refreshing?';
const SECOND_QUESTION = 'Anything new in the announcements?';

/** What the demo prints once it listens: what is running, and how to see a changed description change what the agent does. */
export function demoBanner(options: {
  readonly baseUrl: string;
  readonly files: DemoToolsets['files'];
  readonly urls: DemoToolsets['urls'];
  /** The demo's own token of administrators; left out where the user set one, which is not for the terminal. */
  readonly adminToken?: string;
}): string {
  const { baseUrl, files, urls, adminToken } = options;
  return `
mcp-agent-api demo, listening on ${baseUrl}

  toolsets  knowledge-base (2025 protocol)       ${urls['knowledge-base']}
            places (2026-07-28 protocol)         ${urls.places}
  model     built in: it calls the tool whose name and description share most words with the question

Open ${baseUrl} in a browser and ask there, or try it in a second terminal:

  1. A question that the description of search_knowledge covers. The answer comes from the manual:

     ${curl(baseUrl, FIRST_QUESTION)}

  2. One that no description covers yet. The model says that none of its tools fits:

     ${curl(baseUrl, SECOND_QUESTION)}

  3. Edit ${files['knowledge-base']}
     Let the description of search_knowledge speak of "the manual and the announcements", and save. Or let this do it:

     perl -pi -e 's/Searches the manual and/Searches the manual and the announcements and/' '${files['knowledge-base']}'

     Within a second the log below shows the round and generation 2.

  4. Ask the second question again. Now the answer comes from the announcements.

  The other toolset: ask "Which places are near Vienna?", or edit ${files.places}

  What the model is shown    curl -s ${baseUrl}/connections
  The state of everything    curl -s ${baseUrl}/refresh
  Each event as it comes     npx mcp-agent-api watch ${baseUrl}${adminToken === undefined ? '' : refreshByHand(baseUrl, adminToken)}
  One toolset's fingerprint  npx mcp-agent-api fingerprint ${urls['knowledge-base']}
`;
}

function refreshByHand(baseUrl: string, adminToken: string): string {
  return `\n  Refresh by hand            MCP_AGENT_API_ADMIN_TOKEN=${adminToken} npx mcp-agent-api refresh ${baseUrl}`;
}

function curl(baseUrl: string, question: string): string {
  const body = { threadId: 'demo', runId: 'run-1', messages: [{ id: 'question-1', role: 'user', content: question }] };
  return `curl -sN ${baseUrl}/runs -H 'content-type: application/json' -d '${JSON.stringify(body)}'`;
}
