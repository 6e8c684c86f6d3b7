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

/**
 * Whether two JSON values are the same to the letter, with their keys in the same order. A quick look: equal values whose keys are in another
 * order, or that are nested deeper than {@link MAX_DEPTH}, count as different, and whoever asks compares them with care then.
 */
export function isSameJson(one: unknown, other: unknown, depth = 0): boolean {
  if (one === other) return true;
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null || depth > MAX_DEPTH) return false;
  if (Array.isArray(one) !== Array.isArray(other)) return false;
  const keys = Object.keys(one);
  const others = Object.keys(other);
  if (keys.length !== others.length) return false;
  return keys.every((key, index) => key === others[index] && isSameJson((one as JsonObject)[key], (other as JsonObject)[key], depth + 1));
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
