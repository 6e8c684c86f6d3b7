/** A JSON object as it came over the wire. Frozen data: nobody may change it. */
export type JsonObject = { readonly [key: string]: unknown };

/**
 * One tool exactly as its toolset defined it (the raw JSON of the list page; MCP specification, "Tools").
 * Fields that this product reads are named here; any other field is kept and ignored.
 */
export interface ToolDefinition {
  readonly name: string;
  readonly title?: unknown;
  readonly description?: unknown;
  readonly inputSchema?: unknown;
  readonly outputSchema?: unknown;
  readonly annotations?: unknown;
  readonly _meta?: unknown;
  readonly [key: string]: unknown;
}

/** A tool that is in the list but cannot be shown to a model, and why (CONTRACT.md 6.2). */
export interface WithheldTool {
  readonly tool: string;
  readonly reason: string;
}
