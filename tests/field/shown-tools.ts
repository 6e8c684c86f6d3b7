import type { Fleet } from '../flows/fleet.js';
import { runTurn, type Turn } from '../support/run-client.js';

export interface Connections {
  readonly tools: readonly {
    readonly name: string;
    readonly toolset: string;
    readonly original: string;
    readonly description: string;
    readonly parameters: Record<string, unknown>;
  }[];
  readonly withheld: readonly { readonly toolset: string; readonly tool: string; readonly reason: string }[];
}

/** `GET /connections` of the service. */
export async function connectionsOf(fleet: Fleet): Promise<Connections> {
  return (await (await fetch(new URL('/connections', fleet.baseUrl))).json()) as Connections;
}

/** The shown name of each tool, by `toolset/own name`. */
export async function shownNames(fleet: Fleet): Promise<Record<string, string>> {
  const { tools } = await connectionsOf(fleet);
  return Object.fromEntries(tools.map(({ name, toolset, original }) => [`${toolset}/${original}`, name]));
}

export interface ShownCall {
  readonly name: string;
  readonly args?: Record<string, unknown>;
}

/** Runs one turn in which the model calls these tools by their shown names, all at once, and then says "done". */
export async function callShown(fleet: Fleet, calls: readonly ShownCall[], threadId?: string): Promise<Turn> {
  const first = fleet.model.requests.length;
  fleet.model.reply(({ number }) =>
    number === first ? { toolCalls: calls.map(({ name, args = {} }) => ({ name, args })) } : { text: 'done' },
  );
  return runTurn(fleet.baseUrl, { text: 'Go on.', ...(threadId !== undefined && { threadId }) });
}

/** What each call of the turn answered, in the order in which the results came. */
export function resultsOf(turn: Turn): string[] {
  return turn.events.filter(({ type }) => type === 'TOOL_CALL_RESULT').map(({ content }) => String(content));
}
