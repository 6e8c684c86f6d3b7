import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseSync } from '@swc/core';
import { effectiveValues } from '../../src/config/effective-values.js';
import { readConfig } from '../../src/config.js';
import { ROUTES } from '../../src/http/route-table.js';

const page = readFileSync('docs/contract.md', 'utf8');

/** The last clause of each chapter; chapter 1 has only words. */
const CHAPTERS: Readonly<Record<number, number>> = {
  2: 8,
  3: 15,
  4: 9,
  5: 4,
  6: 5,
  7: 10,
  8: 4,
  9: 2,
  11: 4,
  12: 4,
  13: 2,
  14: 4,
  15: 3,
  16: 3,
};
const CLAUSES = Object.entries(CHAPTERS).flatMap(([chapter, last]) =>
  Array.from({ length: last }, (_, index) => `${chapter}.${index + 1}`),
);

interface NamedTest {
  readonly file: string;
  readonly name: string;
}

interface Row {
  readonly clause: string;
  readonly promise: string;
  readonly tests: readonly NamedTest[];
}

const NAMED_TEST = /^`(tests\/[\w./-]+\.test\.ts)` “([^“”]+)”(?:; |$)/;

function testsOf(cell: string): NamedTest[] {
  const tests: NamedTest[] = [];
  for (let rest = cell; rest !== ''; ) {
    const [whole, file = '', name = ''] = NAMED_TEST.exec(rest) ?? [];
    if (whole === undefined) throw new Error(`This names no test: ${rest}`);
    tests.push({ file, name });
    rest = rest.slice(whole.length);
  }
  return tests;
}

/** Cells end at a bar that is not escaped. */
function rowOf(line: string): Row {
  const cells = line.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll('\\|', '|'));
  const [before, clause = '', promise = '', tests = '', after] = cells;
  if (cells.length !== 5 || before !== '' || after !== '') throw new Error(`This row has not three cells: ${line}`);
  return { clause, promise, tests: testsOf(tests) };
}

const rows = page
  .split('\n')
  .filter((line) => line.startsWith('|') && !/^\| (clause|---) \|/.test(line))
  .map(rowOf);

/** What `test`, `it` or `describe` is called on, with or without `each`; other forms, such as skipped ones, hold nothing. */
function isTestCall(callee: unknown): boolean {
  if (!isNode(callee)) return false;
  switch (callee.type) {
    case 'Identifier':
      return callee.value === 'test' || callee.value === 'it' || callee.value === 'describe';
    case 'MemberExpression':
      return isNode(callee.property) && callee.property.value === 'each' && isTestCall(callee.object);
    case 'CallExpression':
      return isNode(callee.callee) && callee.callee.type === 'MemberExpression' && isTestCall(callee.callee);
    case 'TsInstantiation':
      return isTestCall(callee.expression);
    default:
      return false;
  }
}

interface Node {
  readonly type: string;
  readonly [field: string]: unknown;
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string';
}

/** The text of a string or of a template, whose filled-in parts are written `…`. */
function textOf(node: unknown): string | undefined {
  if (!isNode(node)) return undefined;
  if (node.type === 'StringLiteral') return String(node.value);
  if (node.type !== 'TemplateLiteral' || !Array.isArray(node.quasis)) return undefined;
  return node.quasis.map((part: unknown) => (isNode(part) ? String(part.cooked) : '')).join('…');
}

function collectTitles(value: unknown, titles: Set<string>): void {
  if (typeof value !== 'object' || value === null) return;
  if (isNode(value) && value.type === 'CallExpression' && Array.isArray(value.arguments) && isTestCall(value.callee)) {
    const [first, body] = value.arguments as { expression?: unknown }[];
    const title = textOf(first?.expression);
    if (title !== undefined && body !== undefined) titles.add(title);
  }
  for (const child of Object.values(value)) collectTitles(child, titles);
}

function titlesIn(source: string): ReadonlySet<string> {
  const titles = new Set<string>();
  collectTitles(parseSync(source, { syntax: 'typescript' }), titles);
  return titles;
}

const filesBelow = (folder: string) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => join(folder, file));

test('names are read from tests and groups, with and without a table, and from nothing else', () => {
  const source = [
    "describe('a group', () => { it('one', () => {}); });",
    "test.each<[string]>([['x']])('of %s', () => {});",
    ['describe.each([1])(`a $', '{1} b`, () => {});'].join(''),
    "test.skip('skipped', () => {}); describe.skip('skipped too', () => {}); test.todo('to do');",
    "// test('in a comment', () => {});",
    "expect('a text').toBe('a text'); other('no test', () => {}); const text = \"test('in a text', () => {})\";",
  ].join('\n');
  expect([...titlesIn(source)]).toEqual(['a group', 'one', 'of %s', 'a … b']);
});

test('a cell that holds anything but names of tests is refused', () => {
  expect(testsOf('`tests/a.test.ts` “one”; `tests/b/c.test.ts` “two (3.1)”')).toHaveLength(2);
  expect(() => testsOf('`tests/a.test.ts` “one”; see also elsewhere')).toThrow('see also');
  expect(() => testsOf('`tests/a.ts` “one”')).toThrow('names no test');
});

test('docs/contract.md has a row for every clause, once, in order, and for every route and variable', () => {
  const clauses = rows.map(({ clause }) => clause);
  expect(clauses.filter((clause) => /^\d+\.\d+$/.test(clause))).toEqual(CLAUSES);
  expect(new Set(clauses).size).toBe(clauses.length);
  const routes = Object.values(ROUTES).map(({ method, path }) => `9 \`${method.toUpperCase()} ${path.replace(/[:*](\w+)/g, '{$1}')}\``);
  const written = clauses.filter((clause) => clause.startsWith('9 ')).map((clause) => clause.replace('{n}', '{number}'));
  expect(written.sort()).toEqual([...routes, '9 `GET /`'].sort());
  const config = readConfig({ MCP_URL: 'http://127.0.0.1:9000/index.json', PROVIDER_MODEL: 'openai:gpt-5' });
  const variables = clauses.filter((clause) => clause.startsWith('10 ')).flatMap((clause) => clause.match(/[A-Z][A-Z_]+/g) ?? []);
  expect(variables.sort()).toEqual(Object.keys(effectiveValues(config)).sort());
  const known = /^(\d+\.\d+|9 `[^`]+`|10|10 `[A-Z_]+`(, `[A-Z_]+`)*)$/;
  expect(clauses.filter((clause) => !known.test(clause))).toEqual([]);
});

test('every row says what its clause promises and names at least one test', () => {
  expect(rows.filter(({ promise }) => !/^\S.{10,}\.$/.test(promise)).map(({ clause }) => clause)).toEqual([]);
  expect(rows.filter(({ tests }) => tests.length === 0).map(({ clause }) => clause)).toEqual([]);
});

test('every test that docs/contract.md names exists, under exactly that name', () => {
  const titles = new Map<string, ReadonlySet<string>>();
  const missing = rows.flatMap(({ clause, tests }) =>
    tests
      .filter(({ file, name }) => {
        const known = titles.get(file) ?? titlesIn(readFileSync(file, 'utf8'));
        titles.set(file, known);
        return !known.has(name);
      })
      .map(({ file, name }) => `${clause}: ${file} “${name}”`),
  );
  expect(missing).toEqual([]);
});

test('every clause that a comment in src/ or the name of a test cites is on the page', () => {
  const known = new Set([...CLAUSES, ...Object.keys(CHAPTERS), '10']);
  const NUMBERS = String.raw`\d+(?:\.\d+)?(?:(?:, | and | to |\/)\d+(?:\.\d+)?)*`;
  const named = new RegExp(String.raw`(?:CONTRACT\.md|[Cc]lauses?) (${NUMBERS})`, 'g');
  const inBrackets = /\((\d+\.\d+(?:, \d+\.\d+)*)\)/g;
  const numbersOf = (texts: RegExpExecArray[]) => texts.flatMap(([, numbers = '']) => numbers.match(/\d+(?:\.\d+)?/g) ?? []);
  const inComments = filesBelow('src').flatMap((file) => {
    const comments = (readFileSync(file, 'utf8').match(/\/\*[\s\S]*?\*\/|\/\/.*/g) ?? []).join('\n').replaceAll(/\n\s*\* /g, ' ');
    return numbersOf([...comments.matchAll(named), ...comments.matchAll(inBrackets)]).map((clause) => `${file} ${clause}`);
  });
  const inNames = filesBelow('tests')
    .filter((file) => file.endsWith('.test.ts'))
    .flatMap((file) =>
      [...titlesIn(readFileSync(file, 'utf8'))].flatMap((title) =>
        numbersOf([...title.matchAll(named), ...title.matchAll(inBrackets)]).map((clause) => `${file} ${clause}`),
      ),
    );
  expect(inComments.length).toBeGreaterThan(80);
  expect(inNames.length).toBeGreaterThan(40);
  expect([...inComments, ...inNames].filter((cited) => !known.has(cited.split(' ')[1] ?? ''))).toEqual([]);
});
