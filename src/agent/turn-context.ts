/**
 * What one run hands to the tools that it calls. It travels in LangGraph's `context`, which is neither checkpointed nor traced,
 * so that a user's credentials never reach a store, a log or the model (CONTRACT.md 7.6).
 */
export interface TurnContext {
  /** Request headers for the calls to one toolset, by the id of its snapshot. */
  readonly credentials: ReadonlyMap<string, Readonly<Record<string, string>>>;
}

/** The headers that a call to this toolset carries in this run, if any. */
export function credentialsFor(context: unknown, snapshotId: string): Readonly<Record<string, string>> | undefined {
  if (typeof context !== 'object' || context === null || !('credentials' in context)) return undefined;
  return context.credentials instanceof Map ? context.credentials.get(snapshotId) : undefined;
}
