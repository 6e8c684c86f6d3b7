import type { ToolReport } from '../../../src/core/change-report.js';
import type { DiffLine } from '../../../src/core/text-diff.js';
import type { FieldDiff } from '../../../src/core/tool-diff.js';
import { compareWords, type Stretch } from '../words.js';

/** What happened to one tool, field by field. */
export function ToolDiff({ report }: { report: ToolReport }) {
  const { name, change, classes, diff } = report;
  return (
    <details className="diff" open={change === 'changed'}>
      <summary>
        <span className="tool-name">{name}</span>{' '}
        <span className="change">{change === 'changed' ? `changed: ${classes.join(', ')}` : change}</span>
      </summary>
      <FieldDiffs diffs={diff} />
    </details>
  );
}

/** The service has written hidden characters out already, as `⟨U+200B⟩` for example. */
export function FieldDiffs({ diffs }: { diffs: readonly FieldDiff[] }) {
  return diffs.map(({ field, lines }) => (
    <div key={field} className="field">
      <h4>{field}</h4>
      <pre>
        {shownLines(lines).map(({ key, kind, stretches }) => (
          <ShownLine key={key} kind={kind} stretches={stretches} />
        ))}
      </pre>
    </div>
  ));
}

interface Line {
  readonly key: string;
  readonly kind: DiffLine['kind'];
  readonly stretches: readonly Stretch[];
}

/** A removed line that one added line replaces is compared with it word by word. */
function shownLines(lines: readonly DiffLine[]): Line[] {
  const kindAt = (index: number) => lines[index]?.kind;
  const isPair = (index: number) =>
    kindAt(index - 1) !== 'removed' && kindAt(index) === 'removed' && kindAt(index + 1) === 'added' && kindAt(index + 2) !== 'added';
  return lines.map(({ kind, text }, index) => {
    const other = isPair(index) ? compareWords(text, lines[index + 1]?.text ?? '').before : undefined;
    const paired = isPair(index - 1) ? compareWords(lines[index - 1]?.text ?? '', text).after : undefined;
    const whole = kind === 'skipped' ? `${text} more lines that are the same` : text;
    return { key: `${index} ${kind}`, kind, stretches: other ?? paired ?? [{ isSame: true, text: whole, at: 0 }] };
  });
}

function ShownLine({ kind, stretches }: Omit<Line, 'key'>) {
  const Element = kind === 'removed' ? 'del' : kind === 'added' ? 'ins' : 'span';
  return (
    <Element className={`line ${kind}`}>
      {stretches.map(({ at, isSame, text }) =>
        isSame ? (
          <Marked key={at} text={text} />
        ) : (
          <b key={at}>
            <Marked text={text} />
          </b>
        ),
      )}
    </Element>
  );
}

const WRITTEN_OUT = /(⟨U\+[0-9A-F]{4,6}⟩)/;

function Marked({ text }: { text: string }) {
  let at = 0;
  return text.split(WRITTEN_OUT).map((part) => {
    const key = at;
    at += part.length;
    return WRITTEN_OUT.test(part) ? (
      <mark key={key} title="A hidden character">
        {part}
      </mark>
    ) : (
      part
    );
  });
}
