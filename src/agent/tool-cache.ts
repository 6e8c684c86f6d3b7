import type { BoundTool } from './bind-tool.js';

/**
 * Keeps the bound tools of the newest generation, so that a tool whose definition did not change is the same object in the next one:
 * its schema need not be projected again. Older generations hold their own tools, so dropping one here ends nothing.
 */
export class ToolCache {
  #newest = new Map<string, BoundTool>();

  /** Builds one generation's tools: `take` returns the kept tool of that key or makes it. What was not taken is dropped afterwards. */
  build(take: (from: (key: string, make: () => BoundTool) => BoundTool) => readonly BoundTool[]): readonly BoundTool[] {
    const used = new Map<string, BoundTool>();
    const tools = take((key, make) => {
      const tool = this.#newest.get(key) ?? make();
      used.set(key, tool);
      return tool;
    });
    this.#newest = used;
    return tools;
  }
}
