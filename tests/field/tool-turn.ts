import type { ModelServer } from '../support/model-server.js';
import type { RunEvent } from '../support/run-client.js';
import { beginTurn } from '../support/run-client.js';

export interface ToolTurn {
  readonly events: readonly RunEvent[];
  /** What the tool answered, as the run's client sees it. */
  readonly result: string;
}

/** Begins a run in which the model calls this tool once and then says "done". */
export async function beginToolTurn(
  fleet: { readonly baseUrl: string; readonly model: ModelServer },
  tool: string,
): Promise<{ readonly done: Promise<ToolTurn> }> {
  fleet.model.reply(({ body }) => (body.messages.at(-1)?.role === 'tool' ? { text: 'done' } : { toolCalls: [{ name: tool, args: {} }] }));
  const running = await beginTurn(fleet.baseUrl, { text: `Use ${tool}` });
  return {
    done: running.done.then(({ events }) => {
      const results = events.filter(({ type }) => type === 'TOOL_CALL_RESULT').map(({ content }) => String(content));
      return { events, result: results.join() };
    }),
  };
}

/** A run in which the model calls this tool once. */
export async function toolTurn(fleet: { readonly baseUrl: string; readonly model: ModelServer }, tool: string): Promise<ToolTurn> {
  return (await beginToolTurn(fleet, tool)).done;
}
