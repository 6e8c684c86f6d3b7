import type { ToolDefinition, WithheldTool } from './tool.js';

/** One toolset's complete list at one moment, frozen, with its fingerprint. */
export interface Snapshot {
  /** The toolset's identity: its name and URL. A toolset that moves to another URL is another toolset (CONTRACT.md 3.12). */
  readonly id: string;
  /** The toolset's name in the index. */
  readonly toolset: string;
  readonly url: string;
  /** The tools that can be shown to a model or to a view, sorted by name. */
  readonly tools: readonly ToolDefinition[];
  /** Tools of the list that cannot be shown, sorted by name. */
  readonly withheld: readonly WithheldTool[];
  /** The digest of each tool in `tools`, by name. */
  readonly digests: ReadonlyMap<string, string>;
  readonly instructions: string | undefined;
  readonly credentialHeaders: readonly string[];
  /** `sha256-` and 64 hexadecimal digits (CONTRACT.md 5). */
  readonly fingerprint: string;
}

/** The identity of a toolset: name and URL together. */
export function toolsetId(name: string, url: string): string {
  return `${name} ${url}`;
}
