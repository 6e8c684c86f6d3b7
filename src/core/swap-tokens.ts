/** A token bucket: what a toolset pays for the swaps that it causes (CONTRACT.md 3.10). */
export interface SwapTokens {
  readonly left: number;
  readonly at: number;
}

const CAPACITY = 20;
const MS_PER_TOKEN = 10_000;

export function fullBucket(now: number): SwapTokens {
  return { left: CAPACITY, at: now };
}

export function tokensAt({ left, at }: SwapTokens, now: number): number {
  return Math.min(CAPACITY, left + (now - at) / MS_PER_TOKEN);
}

/** Whether a token is there. The tiny allowance absorbs rounding: a timer set for the token's time must find it. */
export function hasToken(bucket: SwapTokens, now: number): boolean {
  return tokensAt(bucket, now) >= 1 - 1e-6;
}

export function payToken(bucket: SwapTokens, now: number): SwapTokens {
  return { left: Math.max(0, tokensAt(bucket, now) - 1), at: now };
}

/** From so many tokens down, a toolset has just caused at least two swaps in a row. */
const IN_A_ROW = CAPACITY - 1.5;
const SHORTEST_PACE_MS = 280;
const LONGEST_PACE_MS = 800;

/**
 * How long a notification waits so that a toolset that changes all the time keeps some tokens. Without this, a change every 100 ms spends
 * all of them in a few seconds, and from then on the agent is ten seconds behind. With the window that follows, the wait since the last
 * swap stays within the ten windows of CONTRACT.md 3.2.
 */
export function paceMs(bucket: SwapTokens, { now, debounceMs }: { readonly now: number; readonly debounceMs: number }): number {
  if (tokensAt(bucket, now) > IN_A_ROW) return 0;
  const pace = Math.max(SHORTEST_PACE_MS, Math.min(LONGEST_PACE_MS, 8 * debounceMs));
  return Math.max(0, bucket.at + pace - now);
}

/** When a whole token is there; a time that has passed when one is there already. */
export function tokenAt({ left, at }: SwapTokens): number {
  return at + Math.max(0, 1 - left) * MS_PER_TOKEN;
}
