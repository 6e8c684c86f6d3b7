import { randomUUID } from 'node:crypto';
import { ToolMessage } from '@langchain/core/messages';
import type { RunnableConfig } from '@langchain/core/runnables';
import { DynamicStructuredTool, StructuredTool } from '@langchain/core/tools';
import { CodedError } from '../core/errors.js';
import { geminiSchema } from '../core/gemini-schema.js';
import { removeHidden } from '../core/hidden-text.js';
import type { Sessions, ToolCallResult } from '../core/ports.js';
import type { JsonObject } from '../core/tool.js';
import type { NamedTool } from '../core/tool-names.js';
import { projectSchema } from '../core/tool-schema.js';
import { viewOfTool } from '../core/view.js';
import { explainCallFailure } from './call-failure.js';
import { type ImageForm, type ModelBlock, modelContent } from './tool-content.js';
import { credentialsFor } from './turn-context.js';

/** What a tool call left behind beside the text for the model: kept with the message in the thread, never sent to the model. */
export interface ToolArtifact {
  readonly toolset: string;
  /** The tool's own name, as its toolset defined it. */
  readonly tool: string;
  readonly isError: boolean;
  readonly content?: readonly JsonObject[];
  readonly structuredContent?: unknown;
  readonly meta?: JsonObject;
  /** The URI of the view in which the tool's result can be shown. */
  readonly view?: string;
  /** Where no answer came: the code of the error. */
  readonly code?: string;
}

export interface BindToolOptions {
  readonly named: NamedTool;
  readonly sessions: Sessions;
  /** How long a call may take without an answer or progress, in seconds (CONTRACT.md 7.7). */
  readonly toolSeconds: number;
  readonly images: ImageForm;
  readonly schemas: SchemaForm;
}

/** Which form of a schema the model's provider accepts: the one that most do, or Gemini's narrower one. */
export type SchemaForm = 'common' | 'gemini';

type Projection = ReturnType<typeof projectSchema>;

/**
 * One tool of a toolset as LangChain takes it. Description and schema are made ready for the model when they are first read, so an
 * agent with thousands of tools is built without touching them. A toolset's failure is an error message for the model, never an
 * exception (CONTRACT.md 7.7); only a cancelled run throws.
 */
export class BoundTool extends StructuredTool<JsonObject> {
  readonly name: string;
  readonly named: NamedTool;
  readonly #options: BindToolOptions;
  #description: string | undefined;
  #projection: Projection | undefined;
  #caller: DynamicStructuredTool | undefined;

  constructor(options: BindToolOptions) {
    super();
    this.name = options.named.name;
    this.named = options.named;
    this.#options = options;
  }

  get description(): string {
    this.#description ??= describe(this.named);
    return this.#description;
  }

  /** The input schema in the form that model providers accept (CONTRACT.md 6.3). */
  get schema(): JsonObject {
    return this.#projected().schema;
  }

  /**
   * Calls the tool without checking the arguments against its schema. LangChain's own check runs the toolset's regular expressions and
   * references and throws where they are broken; the toolset checks its arguments itself.
   */
  override async invoke(input: unknown, config?: unknown): Promise<never> {
    this.#caller ??= new DynamicStructuredTool({
      name: this.name,
      description: this.name,
      schema: {},
      responseFormat: 'content_and_artifact',
      func: (args, _manager, settings) => this.#call(args, settings),
    });
    return (await this.#caller.invoke(input as JsonObject, config as RunnableConfig)) as never;
  }

  protected _call(args: unknown, _manager?: unknown, config?: RunnableConfig): Promise<[unknown, ToolArtifact]> {
    return this.#call(args, config);
  }

  async #call(args: unknown, config: RunnableConfig | undefined): Promise<[unknown, ToolArtifact]> {
    const { sessions, toolSeconds, images } = this.#options;
    const { toolset, snapshotId, original } = this.named;
    const context = config && 'context' in config ? config.context : undefined;
    let result: ToolCallResult;
    try {
      result = await sessions.call(snapshotId, {
        tool: original,
        args: this.#projected().unmapArgs(isJsonObject(args) ? args : {}),
        headers: credentialsFor(context, snapshotId),
        timeoutMs: toolSeconds * 1000,
        signal: config?.signal,
      });
    } catch (error) {
      if (config?.signal?.aborted) throw error;
      // The model is told in plain words and decides how to go on; the session has logged the error itself.
      const code = error instanceof CodedError ? error.code : 'TOOL_FAILED';
      const text = explainCallFailure(error, { tool: this.name, toolSeconds });
      return this.#answer(text, { toolset, tool: original, isError: true, code }, config);
    }
    const { content, structuredContent, isError, meta } = result;
    const view = viewOfTool(this.named.tool);
    const shownIn = view.kind === 'view' ? { view: view.uri } : {};
    const artifact = { toolset, tool: original, isError, content, structuredContent, meta, ...shownIn };
    return this.#answer(modelContent(result, images), artifact, config);
  }

  /** LangChain gives a tool's message the status `success` by itself; an error has to be a complete message. */
  #answer(content: string | ModelBlock[], artifact: ToolArtifact, config: RunnableConfig | undefined): [unknown, ToolArtifact] {
    const toolCallId = toolCallIdOf(config);
    if (toolCallId === undefined) return [content, artifact];
    const status = artifact.isError ? 'error' : 'success';
    return [new ToolMessage({ id: randomUUID(), content, artifact, status, name: this.name, tool_call_id: toolCallId }), artifact];
  }

  #project(): Projection {
    const { schema, unmapArgs } = projectSchema(this.named.tool.inputSchema);
    return { schema: this.#options.schemas === 'gemini' ? geminiSchema(schema) : schema, unmapArgs };
  }

  #projected(): Projection {
    this.#projection ??= this.#project();
    return this.#projection;
  }
}

/** Binds one tool of a catalog. */
export function bindTool(options: BindToolOptions): BoundTool {
  return new BoundTool(options);
}

/**
 * The text that tells the model what the tool is for, without hidden characters (CONTRACT.md 14.1). A tool without description is
 * introduced by its title or its name.
 */
function describe({ tool, original, name }: NamedTool): string {
  for (const text of [tool.description, tool.title, original]) {
    const shown = typeof text === 'string' ? removeHidden(text).text : '';
    if (shown.trim() !== '') return shown;
  }
  return name;
}

function toolCallIdOf(config: RunnableConfig | undefined): string | undefined {
  const call = config && 'toolCall' in config ? config.toolCall : undefined;
  return isJsonObject(call) && typeof call.id === 'string' ? call.id : undefined;
}

function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
