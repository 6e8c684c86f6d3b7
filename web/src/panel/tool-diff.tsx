import type { ToolFact } from '../../../src/core/facts.js';
import { diffOf, type Piece } from '../diff.js';
import { stretchesOf } from '../text.js';

/** One tool before and after, its description word by word and the rest of its definition line by line. */
export function ToolDiff({ fact }: { fact: Pick<ToolFact, 'name' | 'change' | 'before' | 'after'> }) {
  const { name, change, before, after } = fact;
  return (
    <details className="diff" open={change === 'changed'}>
      <summary>
        <span className="tool-name">{name}</span> <span className="change">{change}</span>
      </summary>
      <Difference label="Description" before={descriptionOf(before)} after={descriptionOf(after)} by="words" />
      <Difference label="Definition" before={restOf(before)} after={restOf(after)} by="lines" />
    </details>
  );
}

function Difference({ label, before, after, by }: { label: string; before: string; after: string; by: 'words' | 'lines' }) {
  if (before === after) return null;
  return (
    <>
      <h4>{label}</h4>
      <pre className={by}>
        {diffOf(before, after, by).map((piece) => (
          <PieceOfDiff key={`${piece.kind} ${piece.at}`} piece={piece} />
        ))}
      </pre>
    </>
  );
}

function PieceOfDiff({ piece: { kind, text } }: { piece: Piece }) {
  const shown = stretchesOf(text).map(({ text: part, isHidden, at }) =>
    isHidden ? (
      <mark key={at} title="A hidden character">
        {part}
      </mark>
    ) : (
      part
    ),
  );
  if (kind === 'removed') return <del>{shown}</del>;
  if (kind === 'added') return <ins>{shown}</ins>;
  return <span>{shown}</span>;
}

function descriptionOf(tool: ToolFact['before']): string {
  return typeof tool?.description === 'string' ? tool.description : '';
}

function restOf(tool: ToolFact['before']): string {
  if (tool === null) return '';
  const { description: _, ...rest } = tool;
  return `${JSON.stringify(rest, null, 2)}\n`;
}
