import type { JsonObject } from './tool.js';

/**
 * How deep a tool's JSON may be nested (CONTRACT.md 14.1). Every recursive walk over a toolset's JSON stops here, because an
 * answer with 100 000 levels would overflow the stack.
 */
export const MAX_DEPTH = 200;

/** True for a JSON object: neither null nor an array. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Orders strings by their UTF-16 code units: the same on every machine, whatever its locale. */
export function byCodeUnits(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Whether arrays and objects are nested deeper than `levels`. Walks level by level instead of recursing, so it is safe on any answer. */
export function isDeeperThan(value: unknown, levels: number): boolean {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth += 1) {
    const containers = level.filter((item) => typeof item === 'object' && item !== null);
    if (depth >= levels) return containers.length > 0;
    level = containers.flatMap((container) => Object.values(container as object));
  }
  return false;
}
