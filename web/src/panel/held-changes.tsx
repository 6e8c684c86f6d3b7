import { useState } from 'react';
import type { HeldReport } from '../../../src/core/change-report.js';
import type { ToolsetStatus } from '../../../src/core/status.js';
import { ask, askJson } from '../api.js';
import { age, count } from '../text.js';
import { FieldDiffs, ToolDiff } from './tool-diff.js';

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
          <li key={`${toolset.name} ${toolset.held?.fingerprint}`}>
            <HeldChange toolset={toolset} onDecided={onDecided} now={now} />
          </li>
        ))}
      </ul>
    </section>
  );
}

const REASONS: Readonly<Record<HeldReport['reason'], string>> = {
  empty: 'Its list is suddenly empty, so it is asked again before its tools go.',
  flapping: 'It changes too often; this change is used as soon as others may be.',
  rejected: 'No agent can be built with it.',
  review: 'Somebody has to approve it first.',
};

interface HeldChangeProps {
  readonly toolset: ToolsetStatus;
  readonly onDecided: () => void;
  readonly now: number;
}

function HeldChange({ toolset: { name, held }, onDecided, now }: HeldChangeProps) {
  const [problem, setProblem] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const [reports, setReports] = useState<readonly HeldReport[]>();
  if (held === null) return null;
  const { reason, fingerprint, since, classes } = held;
  const path = `refresh/held/${encodeURIComponent(fingerprint)}`;
  const attempt = async (act: () => Promise<void>) => {
    setProblem(undefined);
    setBusy(true);
    try {
      await act();
    } catch (error) {
      // The change waits on, and whoever asked sees why.
      setProblem(error instanceof Error ? error.message : 'The service did not answer.');
    } finally {
      setBusy(false);
    }
  };
  const show = () => attempt(async () => setReports((await askJson<{ held: HeldReport[] }>(path, { as: 'admin' })).held));
  const decide = (decision: 'approve' | 'reject') =>
    attempt(async () => {
      await ask(`${path}/${decision}`, { method: 'POST', as: 'admin' });
      onDecided();
    });
  return (
    <div className="held-change">
      <p>
        <b>{name}</b> <span className="quiet">first seen {age(since, now)}</span>
      </p>
      <p>{REASONS[reason]}</p>
      {classes.length > 0 && <p className="quiet">It concerns: {classes.join(', ')}</p>}
      <p className="quiet fingerprint">{fingerprint}</p>
      {reports
        ?.filter(({ toolset }) => toolset === name)
        .map((report) => (
          <HeldDetails key={report.toolset} report={report} />
        ))}
      <div className="actions">
        {reports === undefined && (
          <button type="button" className="plain" disabled={isBusy} onClick={() => void show()}>
            Show the change
          </button>
        )}
        {reason === 'review' && (
          <>
            <button type="button" disabled={isBusy} onClick={() => void decide('reject')}>
              Reject
            </button>
            <button type="button" className="primary" disabled={isBusy} onClick={() => void decide('approve')}>
              Approve
            </button>
          </>
        )}
      </div>
      {problem !== undefined && (
        <p className="failure" role="alert">
          {problem}
        </p>
      )}
    </div>
  );
}

function HeldDetails({ report: { tools, omitted, instructions, credentials } }: { report: HeldReport }) {
  const before = credentials.before.join(', ') || 'none';
  const after = credentials.after.join(', ') || 'none';
  return (
    <div className="details">
      {tools.map((tool) => (
        <ToolDiff key={tool.name} report={tool} />
      ))}
      {omitted > 0 && <p className="quiet">{count(omitted, 'more tool')} would change; together they are too large to show.</p>}
      {instructions.length > 0 && (
        <div className="diff">
          <FieldDiffs diffs={instructions} />
        </div>
      )}
      {before !== after && (
        <p>
          Credentials that it asks for: {after} <span className="quiet">(before: {before})</span>
        </p>
      )}
    </div>
  );
}
