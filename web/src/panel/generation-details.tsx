import { useEffect, useState } from 'react';
import type { GenerationReport } from '../../../src/core/change-report.js';
import { askJson } from '../api.js';
import { count } from '../text.js';
import { ToolDiff } from './tool-diff.js';

type Loaded =
  | { readonly kind: 'loading' }
  | { readonly kind: 'record'; readonly record: GenerationReport }
  | { readonly kind: 'problem'; readonly why: string };

/** What one generation changed: each tool before and after. */
export function GenerationDetails({ number }: { number: number }) {
  const [loaded, setLoaded] = useState<Loaded>({ kind: 'loading' });
  useEffect(() => {
    const gone = new AbortController();
    setLoaded({ kind: 'loading' });
    askJson<GenerationReport>(`generations/${number}`, { signal: gone.signal }).then(
      (record) => setLoaded({ kind: 'record', record }),
      (error: unknown) => {
        if (!gone.signal.aborted) setLoaded({ kind: 'problem', why: error instanceof Error ? error.message : 'It could not be read.' });
      },
    );
    return () => gone.abort();
  }, [number]);

  if (loaded.kind === 'loading') return <p className="quiet">Loading</p>;
  if (loaded.kind === 'problem') return <p className="quiet">{loaded.why}</p>;
  const { tools, omitted, fingerprint } = loaded.record;
  return (
    <div className="details">
      <p className="quiet fingerprint">{fingerprint}</p>
      {tools.length === 0 && omitted === 0 && <p className="quiet">The model is shown the same tools as before.</p>}
      {tools.map((report) => (
        <ToolDiff key={report.name} report={report} />
      ))}
      {omitted > 0 && <p className="quiet">{count(omitted, 'more tool')} changed; the definitions were too large to keep.</p>}
    </div>
  );
}
