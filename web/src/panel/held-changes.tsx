import { useState } from 'react';
import type { ToolsetStatus } from '../../../src/core/status.js';
import { ask } from '../api.js';
import { age } from '../text.js';

interface HeldChangesProps {
  readonly toolsets: readonly ToolsetStatus[];
  readonly onDecided: () => void;
  readonly now: number;
}

/** Changes that wait: those under review with their decision, the others with the reason. */
export function HeldChanges({ toolsets, onDecided, now }: HeldChangesProps) {
  const held = toolsets.filter((toolset) => toolset.held !== null);
  if (held.length === 0) return null;
  return (
    <section aria-labelledby="held">
      <h2 id="held">Waiting changes</h2>
      <ul className="held">
        {held.map((toolset) => (
          <li key={toolset.name}>
            <HeldChange toolset={toolset} onDecided={onDecided} now={now} />
          </li>
        ))}
      </ul>
    </section>
  );
}

const REASONS: Readonly<Record<string, string>> = {
  empty: 'Its list is suddenly empty, so it is asked again before its tools go.',
  flapping: 'It changes too often; this change is used as soon as others may be.',
  rejected: 'No agent can be built with it.',
  review: 'Somebody has to approve it first.',
};

function HeldChange({ toolset: { name, held }, onDecided, now }: { toolset: ToolsetStatus; onDecided: () => void; now: number }) {
  const [problem, setProblem] = useState<string>();
  const [deciding, setDeciding] = useState(false);
  if (held === null) return null;
  const { fingerprint, since } = held;
  const reason: string = held.reason;
  const decide = async (decision: 'approve' | 'reject') => {
    setProblem(undefined);
    setDeciding(true);
    try {
      await ask(`refresh/held/${encodeURIComponent(fingerprint)}/${decision}`, { method: 'POST', as: 'admin' });
      onDecided();
    } catch (error) {
      // The change waits on, and whoever decided sees why.
      setProblem(error instanceof Error ? error.message : 'The decision could not be sent.');
    } finally {
      setDeciding(false);
    }
  };
  return (
    <div className="held-change">
      <p>
        <b>{name}</b> <span className="quiet">since {age(since, now)}</span>
      </p>
      <p>{REASONS[reason] ?? reason}</p>
      <p className="quiet fingerprint">{fingerprint}</p>
      {reason === 'review' && (
        <div className="actions">
          <button type="button" className="plain" disabled={deciding} onClick={() => void decide('reject')}>
            Reject
          </button>
          <button type="button" className="primary" disabled={deciding} onClick={() => void decide('approve')}>
            Approve
          </button>
        </div>
      )}
      {problem !== undefined && (
        <p className="failure" role="alert">
          {problem}
        </p>
      )}
    </div>
  );
}
