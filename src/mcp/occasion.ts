import type { ServerFacts } from './server-facts.js';

/** Why another connection is made. */
export type Occasion = 'connect' | 'list' | 'call' | 'stream' | 'heartbeat' | 'renewal' | 'headers';

/** Whether a change may have gone unheard when a connection took another one's place. */
export function mayHaveMissed(occasion: Occasion, facts: { readonly before: ServerFacts | undefined; readonly now: ServerFacts }): boolean {
  // The first connection is listed by whoever asked for it; but a list that was refused with the old headers does not wait for this one.
  if (facts.before === undefined) return occasion === 'headers';
  switch (occasion) {
    // Who asked for the connection lists on it anyway, after its stream is open.
    case 'connect':
    case 'list':
      return false;
    // The old stream was open until the new one was; only another server behind the same URL is news.
    case 'renewal':
      return JSON.stringify(facts.before) !== JSON.stringify(facts.now);
    default:
      return true;
  }
}
