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

/** When a whole token is there; a time that has passed when one is there already. */
export function tokenAt({ left, at }: SwapTokens): number {
  return at + Math.max(0, 1 - left) * MS_PER_TOKEN;
}
