import type { BaseChatModel } from '@langchain/core/language_models/chat_models';
import type { BaseMessage } from '@langchain/core/messages';
import type { RunnableConfig } from '@langchain/core/runnables';
import type { BaseCheckpointSaver, StateSnapshot } from '@langchain/langgraph';
import { createAgent } from 'langchain';
import type { Catalog } from '../core/catalog.js';
import type { Sessions } from '../core/ports.js';
import type { JsonObject } from '../core/tool.js';
import { type BoundTool, bindTool, type SchemaForm } from './bind-tool.js';
import { DEFAULT_SYSTEM_PROMPT, systemMessage } from './system-message.js';
import { ToolCache } from './tool-cache.js';
import type { ImageForm } from './tool-content.js';
import type { TurnContext } from './turn-context.js';
import { RESERVED_PREFIX, reservedNamesRule, turnRules } from './turn-rules.js';

/** A tool as the model is shown it, with where it comes from, and with everything else that `fingerprint(agent.tools)` reads. */
export interface ShownTool {
  readonly name: string;
  readonly toolset: string;
  /** The tool's own name, as its toolset defined it. */
  readonly original: string;
  readonly description: string;
  /** The parameters' JSON Schema, word for word as providers receive it. */
  readonly parameters: JsonObject;
  /** The input schema as the toolset sent it. */
  readonly inputSchema: unknown;
  readonly title: unknown;
  readonly outputSchema: unknown;
  readonly annotations: unknown;
  readonly _meta: unknown;
}

/** What a run may carry for one toolset (CONTRACT.md 7.6). */
export interface ToolsetCredentials {
  readonly toolset: string;
  readonly snapshotId: string;
  /** Names of request headers, lower case. */
  readonly headers: readonly string[];
}

/** The part of a compiled LangGraph agent that runs and readbacks use. */
export interface AgentGraph {
  stream(input: { messages: BaseMessage[] }, config: TurnConfig): Promise<AsyncIterable<unknown>>;
  getState(config: RunnableConfig): Promise<StateSnapshot>;
}

/** The configuration of one run of the graph. */
export interface TurnConfig extends RunnableConfig {
  readonly streamMode?: ('messages' | 'updates')[];
  /** Whether a step waits until the step before it is in the store (`sync`) or runs meanwhile. */
  readonly durability?: 'sync' | 'async' | 'exit';
  readonly context?: TurnContext;
}

/** An agent built from one catalog. */
export interface AgentOfGeneration {
  readonly graph: AgentGraph;
  readonly tools: readonly ShownTool[];
  readonly credentials: readonly ToolsetCredentials[];
  /** Tools that cannot be shown to the model, and why (CONTRACT.md 6.2). */
  readonly withheld: readonly { readonly toolset: string; readonly tool: string; readonly reason: string }[];
}

export interface BuildAgentOptions {
  readonly catalog: Catalog;
  readonly sessions: Sessions;
  readonly model: BaseChatModel;
  /** One checkpointer for all generations, so that threads outlive agents (CONTRACT.md 2.4). */
  readonly checkpointer: BaseCheckpointSaver;
  readonly systemPrompt?: string;
  /** How long a tool call may take without an answer or progress, in seconds; 60 unless given (CONTRACT.md 7.7). */
  readonly toolSeconds?: number;
  /** Hand in the same cache for every build, so that unchanged tools are taken over from the last generation. */
  readonly cache?: ToolCache;
}

/** Builds the agent of one catalog. Throws what LangChain throws where it refuses a tool or the model. */
export function buildAgent(options: BuildAgentOptions): AgentOfGeneration {
  const { catalog, sessions, model, checkpointer, toolSeconds = 60, cache = new ToolCache() } = options;
  const images = imageForm(model);
  const schemas = schemaForm(model);
  const tools = cache.build(catalog.names.groups, (named) => bindTool({ named, sessions, toolSeconds, images, schemas }));
  const names = tools.map((tool) => tool.name);
  const rules = [turnRules(names)];
  const agent = createAgent({
    model,
    tools: [...tools],
    checkpointer,
    systemPrompt: systemMessage(options.systemPrompt ?? DEFAULT_SYSTEM_PROMPT, catalog),
    middleware: names.some((name) => name.startsWith(RESERVED_PREFIX)) ? [...rules, reservedNamesRule()] : rules,
  });
  let shown: readonly ShownTool[] | undefined;
  return {
    graph: agent.graph as unknown as AgentGraph,
    // Made when somebody asks: with thousands of tools it would be a good part of each swap.
    get tools() {
      shown ??= tools.map(shownTool);
      return shown;
    },
    credentials: catalog.snapshots.map(({ toolset, id, credentialHeaders }) => ({ toolset, snapshotId: id, headers: credentialHeaders })),
    withheld: catalog.snapshots.flatMap(({ toolset, withheld }) => withheld.map(({ tool, reason }) => ({ toolset, tool, reason }))),
  };
}

/** Description and parameters are getters, so that they are made only when somebody reads them. */
function shownTool(tool: BoundTool): ShownTool {
  const { inputSchema, title, outputSchema, annotations, _meta } = tool.named.tool;
  return {
    name: tool.name,
    toolset: tool.named.toolset,
    original: tool.named.original,
    get description() {
      return tool.description;
    },
    get parameters() {
      return tool.schema;
    },
    inputSchema,
    title,
    outputSchema,
    annotations,
    _meta,
  };
}

/** Providers that take images inside a tool's result; the others refuse the conversation because of one. */
function imageForm(model: BaseChatModel): ImageForm {
  return /anthropic|google|gemini|vertex|bedrock/i.test(model._llmType()) ? 'block' : 'described';
}

/** Google's models refuse a request because of keywords that all others accept or ignore (CONTRACT.md 6.3). */
function schemaForm(model: BaseChatModel): SchemaForm {
  return /google|gemini|vertex/i.test(model._llmType()) ? 'gemini' : 'common';
}
