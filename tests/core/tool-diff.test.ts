import { markHidden } from '../../src/core/hidden-text.js';
import { diffLines } from '../../src/core/text-diff.js';
import { diffTool } from '../../src/core/tool-diff.js';

const numbered = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => `line ${from + index}`);
const written = (lines: ReturnType<typeof diffLines>) => lines.map(({ kind, text }) => `${kind} ${text}`);

test('unchanged lines far from a change are counted, not shown', () => {
  const before = numbered(1, 20);
  const after = before.map((line) => (line === 'line 10' ? 'another' : line));
  expect(written(diffLines(before, after))).toEqual([
    'skipped 6',
    'same line 7',
    'same line 8',
    'same line 9',
    'removed line 10',
    'added another',
    'same line 11',
    'same line 12',
    'same line 13',
    'skipped 7',
  ]);
});

test('as many lines are kept as can be', () => {
  expect(written(diffLines(['a', 'b', 'c', 'd'], ['b', 'x', 'd', 'e']))).toEqual([
    'removed a',
    'same b',
    'removed c',
    'added x',
    'same d',
    'added e',
  ]);
});

test('texts that are too long to compare are shown as removed and added, in little time', () => {
  const before = numbered(1, 50_000);
  const after = numbered(100_001, 150_000);
  const lines = diffLines(before, after);
  expect(lines.filter(({ kind }) => kind === 'removed')).toHaveLength(50_000);
  expect(lines.filter(({ kind }) => kind === 'added')).toHaveLength(50_000);
});

test('the order of keys is no difference, and a field that came or went is', () => {
  const before = { name: 'search', inputSchema: { type: 'object', properties: { a: {}, b: {} } }, title: 'Search' };
  const after = { name: 'search', inputSchema: { properties: { b: {}, a: {} }, type: 'object' }, outputSchema: { type: 'object' } };
  expect(diffTool(before, after).map(({ field, lines }) => [field, written(lines)])).toEqual([
    ['outputSchema', ['added {', 'added   "type": "object"', 'added }']],
    ['title', ['removed Search']],
  ]);
  expect(diffTool(before, { ...before })).toEqual([]);
  expect(diffTool(null, { name: 'new' })).toEqual([{ field: 'name', lines: [{ kind: 'added', text: 'new' }] }]);
});

test('hidden characters are written as their code points wherever they are, and what can be seen stays', () => {
  expect(markHidden('a\u200Bb\u{E0041}c\u202E')).toBe('a⟨U+200B⟩b⟨U+E0041⟩c⟨U+202E⟩');
  expect(markHidden('👩\u200D🚀 می\u200Cخواهم\n\tx')).toBe('👩\u200D🚀 می\u200Cخواهم\n\tx');
  const [diff] = diffTool(null, { inputSchema: { properties: { 'q\u200B': {} } } });
  expect(diff?.lines.map(({ text }) => text).join('\n')).toContain('q⟨U+200B⟩');
});
