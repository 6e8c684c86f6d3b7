import { prettyJson } from '../text.js';
import type { Piece, Turn } from './turn.js';
import { ViewFrame } from './view-frame.js';

interface TurnViewProps {
  readonly turn: Turn;
  readonly liveGeneration: number;
  readonly onShowGeneration: (generation: number) => void;
}

/** A question, its answer, and which generation gave it. */
export function TurnView({ turn, liveGeneration, onShowGeneration }: TurnViewProps) {
  const { question, pieces, run } = turn;
  const { state, generation } = run;
  return (
    <article className="turn">
      <p className="question">{question}</p>
      <div className="answer">
        {pieces.map((piece) => (
          <PieceView key={`${piece.kind} ${piece.id}`} piece={piece} isOver={state.kind !== 'running'} />
        ))}
        {state.kind === 'running' && <p className="quiet running">Answering</p>}
        {state.kind === 'stopped' && <p className="quiet">Stopped.</p>}
        {state.kind === 'failed' && (
          <p className="failure" role="alert">
            {state.message} <code>{state.code}</code>
          </p>
        )}
      </div>
      {generation !== null && (
        <p className="given-by">
          <button type="button" className="link" onClick={() => onShowGeneration(generation)}>
            Generation {generation}
          </button>
          {generation < liveGeneration && ` (${liveGeneration} is live now)`}
        </p>
      )}
    </article>
  );
}

function PieceView({ piece, isOver }: { piece: Piece; isOver: boolean }) {
  if (piece.kind === 'text') return <p className="text">{piece.text}</p>;
  const { tool, args, result, view } = piece;
  const stand = result !== null ? 'answered' : isOver ? 'no answer' : 'calling';
  return (
    <div className="call">
      <details>
        <summary>
          <span className="tool-name">{tool}</span> <span className="quiet">{stand}</span>
        </summary>
        <h4>Arguments</h4>
        <pre>{prettyJson(args)}</pre>
        {result !== null && (
          <>
            <h4>Result</h4>
            <pre>{prettyJson(result)}</pre>
          </>
        )}
      </details>
      {view !== null && result !== null && <ViewFrame view={view} args={args} result={result} />}
    </div>
  );
}
