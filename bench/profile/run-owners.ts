import type { OwnerOf } from './owners.js';

/** The benchmark's own part in the process: the probe. */
export const PROBE = 'probe';

const ROUTE = 'route and stream (this repository’s http/ and agent/, or the route written by hand; AG-UI encoder)';

/** Who a package works for in a run. */
const PACKAGES: readonly (readonly [pattern: RegExp, owner: string])[] = [
  [/^@langchain\/langgraph-checkpoint$/, 'thread store (LangGraph’s saver and its serializer)'],
  [/^@langchain\/langgraph$/, 'LangGraph'],
  [/^(openai|@langchain\/openai)$/, 'client of the model provider'],
  [/^(@langchain\/core|langchain|langsmith|p-queue|eventemitter3|uuid)$/, 'LangChain core (messages, callbacks, runnables)'],
  [/^undici$/, 'HTTP client (to the provider and the toolset)'],
  [/^(@modelcontextprotocol\/.+|zod|eventsource-parser)$/, 'MCP call'],
  [/^@ag-ui\/.+$/, ROUTE],
  [/^(express|router|body-parser|raw-body|iconv-lite|type-is|content-type|path-to-regexp|media-typer|on-finished|debug)$/, 'Express'],
];

const ROOMS: Readonly<Record<string, string>> = {
  agent: ROUTE,
  http: ROUTE,
  mcp: 'MCP call',
  store: 'thread store (LangGraph’s saver and its serializer)',
};

/** Sorts the functions of a process that answers runs by whose they are. */
export const runOwner: OwnerOf = ({ url, functionName }) => {
  if (functionName === '(garbage collector)') return 'garbage collection';
  if (url.startsWith('node:internal/deps/undici') || url.startsWith('wasm:')) return 'HTTP client (to the provider and the toolset)';
  const name = /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1];
  if (name !== undefined) return PACKAGES.find(([pattern]) => pattern.test(name))?.[1] ?? 'other packages';
  if (url.includes('/bench/hand-written/')) return ROUTE;
  if (url.includes('/bench/')) return PROBE;
  const room = /\/dist\/(\w+)\//.exec(url)?.[1];
  return room === undefined ? undefined : (ROOMS[room] ?? 'other rooms of this repository');
};
