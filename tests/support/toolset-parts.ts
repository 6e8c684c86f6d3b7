import type { IncomingHttpHeaders } from 'node:http';

/** What a tool's code may use while it runs. */
export interface CallContext {
  /** The headers of the HTTP request that carried the call. */
  readonly headers: IncomingHttpHeaders;
  /** Aborts when the client cancels the call. */
  readonly signal: AbortSignal;
  /** Sends a progress notification on the call's own response stream; nothing happens when the client asked for none. */
  progress(progress: number, total?: number): Promise<void>;
  /** Sends any notification on the call's own response stream. */
  notify(method: string, params?: Record<string, unknown>): Promise<void>;
}

export interface CallResult {
  readonly content?: readonly Record<string, unknown>[];
  readonly structuredContent?: unknown;
  readonly isError?: boolean;
  readonly _meta?: Record<string, unknown>;
}

/** A tool of a test toolset. All fields but `run` are handed out verbatim; a string result becomes one text block. */
export interface TestTool {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  /** An object without properties where it is not given. */
  readonly inputSchema?: unknown;
  readonly outputSchema?: unknown;
  readonly annotations?: unknown;
  readonly _meta?: Record<string, unknown>;
  readonly run?: (args: Record<string, unknown>, context: CallContext) => CallResult | string | Promise<CallResult | string>;
  readonly [field: string]: unknown;
}

/** A `ui://` view, or any other resource with a text. */
export interface TestResource {
  readonly uri: string;
  readonly text: string;
  readonly name?: string;
  readonly mimeType?: string;
  readonly _meta?: Record<string, unknown>;
}

/** One call as the toolset received it. */
export interface ReceivedCall {
  readonly tool: string;
  readonly args: Record<string, unknown>;
  readonly headers: IncomingHttpHeaders;
}

/** What a test toolset offers right now. Servers read it at each request, so that a change counts at once. */
export interface Offer {
  readonly name: string;
  tools: readonly TestTool[];
  resources: readonly TestResource[];
  instructions: string | undefined;
  readonly calls: ReceivedCall[];
}

export const EMPTY_INPUT = { type: 'object', properties: {} } as const;

/** The tool as it goes over the wire. */
export function wireTool({ run: _run, ...fields }: TestTool): Record<string, unknown> {
  return fields.inputSchema === undefined ? { ...fields, inputSchema: EMPTY_INPUT } : fields;
}

/** Notes the call and runs the tool; without code of its own a tool answers its arguments as JSON text. */
export async function runTool(
  offer: Offer,
  name: string,
  args: Record<string, unknown>,
  context: CallContext,
): Promise<CallResult | undefined> {
  const tool = offer.tools.find((candidate) => candidate.name === name);
  if (tool === undefined) return undefined;
  offer.calls.push({ tool: name, args, headers: context.headers });
  const result = tool.run === undefined ? JSON.stringify(args) : await tool.run(args, context);
  return typeof result === 'string' ? { content: [{ type: 'text', text: result }] } : { content: [], ...result };
}

export function listedResources(offer: Offer): Record<string, unknown>[] {
  return offer.resources.map(({ text: _text, ...fields }) => ({ name: fields.uri, mimeType: 'text/html', ...fields }));
}

/** The contents of a resource, or undefined when there is none. */
export function resourceContents(offer: Offer, uri: string): Record<string, unknown>[] | undefined {
  const found = offer.resources.find((resource) => resource.uri === uri);
  if (found === undefined) return undefined;
  const { name: _name, ...fields } = found;
  return [{ mimeType: 'text/html', ...fields }];
}
