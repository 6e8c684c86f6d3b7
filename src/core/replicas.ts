/** "This toolset changed": what one replica tells the others. It carries no tools; whoever hears it lists for itself. */
export interface Hint {
  readonly toolset: string;
  /** The fingerprint that the sender serves now. */
  readonly fingerprint: string;
  /** The sender. */
  readonly instance: string;
}

/** What a replica serves, as `GET /refresh` shows it (CONTRACT.md 16.3). */
export interface Replica {
  readonly instance: string;
  readonly generation: number;
  readonly fingerprint: string | null;
  /** When it was last heard of, ISO 8601. */
  readonly at: string;
}

/** What a replica hears of the others. Called synchronously; the receiver must return at once. */
export interface ReplicaEvents {
  hint(hint: Hint): void;
  /** The connection over which hints come was lost and is open again: hints may have been missed. */
  reconnected(): void;
}

/** How replicas that share a store speak to each other (CONTRACT.md 16.3). Nothing here waits for the store, and nothing throws. */
export interface ReplicaLink {
  /** Begins to tell `events` what comes from the others. */
  listen(events: ReplicaEvents): void;
  /** Tells the others that a toolset changed. Lost while the store cannot be reached; the others poll. */
  hint(hint: { readonly toolset: string; readonly fingerprint: string }): void;
  /** Says what this replica serves from now on; repeated until it changes. */
  serve(serving: { readonly generation: number; readonly fingerprint: string }): void;
  /** All replicas that were heard of lately, this one included, sorted by instance. */
  replicas(): readonly Replica[];
  /** Since when replicas have been serving different fingerprints, ISO 8601; null while they agree. */
  readonly differSince: string | null;
}
