import type { StructuredToolInterface } from '@langchain/core/tools';
import { toJsonSchema } from '@langchain/core/utils/json_schema';
import type { JsonObject } from '../core/tool.js';
import type { AgentGraph, AgentOfGeneration, ShownTool } from './build-agent.js';

/** An agent that a host built itself, with LangChain or LangGraph. */
export interface OwnAgent {
  /**
   * A compiled LangGraph graph with a checkpointer, whose state has `messages`: what `compile()` returns, or the `graph` of what
   * LangChain's `createAgent` returns.
   */
  readonly graph: { stream(...parameters: never[]): unknown; getState(...parameters: never[]): unknown };
  /** The tools that the graph was built with. */
  readonly tools: readonly StructuredToolInterface[];
  /** What `GET /connections` names as the tools' toolset; `host` unless given. */
  readonly toolset?: string;
}

/**
 * Makes an agent that a host built itself fit for `createRouter(() => agent)` and `keepFresh` (CONTRACT.md 12.2). Its tools are called as
 * the host wrote them: they get no credentials of the user (CONTRACT.md 7.6) and no views, and a model's failure ends the run with
 * `run_failed` instead of `model_failed`. Throws what LangChain throws for a schema that cannot be shown to a model.
 */
export function adoptAgent({ graph, tools, toolset = 'host' }: OwnAgent): AgentOfGeneration {
  return {
    graph: graph as unknown as AgentGraph,
    tools: tools.map((tool) => shownTool(tool, toolset)),
    credentials: [],
    withheld: [],
  };
}

function shownTool({ name, description, schema }: StructuredToolInterface, toolset: string): ShownTool {
  const parameters = toJsonSchema(schema) as JsonObject;
  return {
    name,
    toolset,
    original: name,
    description,
    parameters,
    inputSchema: parameters,
    title: undefined,
    outputSchema: undefined,
    annotations: undefined,
    _meta: undefined,
  };
}
