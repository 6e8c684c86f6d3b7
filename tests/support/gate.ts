/** A gate that a test opens when it wants the other side to go on. */
export interface Gate {
  /** Lets everybody through, now and later. */
  open(): void;
  /** Resolves when the gate is open. */
  pass(): Promise<void>;
  /** How many wait in front of it. */
  waiting(): number;
}

export function gate(): Gate {
  let open = false;
  let waiting: (() => void)[] = [];
  return {
    open() {
      open = true;
      for (const go of waiting) go();
      waiting = [];
    },
    pass: () => (open ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve))),
    waiting: () => waiting.length,
  };
}
