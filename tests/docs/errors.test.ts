import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ERROR_CODES } from '../../src/core/errors.js';
import { PROBLEM_CODES, RUN_ERROR_CODES } from '../../src/http/error-codes.js';
import { errorsPage } from './errors-page.js';

const files = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter((file) => /^(http|agent)\/.*\.ts$/.test(file));
const sources = files.map((file) => readFileSync(join('src', file), 'utf8')).join('\n');

test('docs/errors.md is what npm run docs:errors writes', () => {
  expect(readFileSync('docs/errors.md', 'utf8')).toBe(errorsPage());
});

test('every problem that a route answers with is in the catalogue with its status, and every entry is used', () => {
  const inCode = [...sources.matchAll(/new Problem\((\d+|status), '(\w+)'/g)].map(([, status, code]) => [
    code,
    status === 'status' ? '4xx' : Number(status),
  ]);
  const listed = Object.fromEntries(Object.entries(PROBLEM_CODES).map(([code, { status }]) => [code, status]));
  expect(Object.fromEntries(inCode)).toEqual(listed);
});

test('every code with which a run ends is one of those that the code gives', () => {
  const inCode = [...sources.matchAll(/readonly code: ('[\w' |]+);/g)].flatMap(([, codes = '']) =>
    [...codes.matchAll(/'(\w+)'/g)].map(([, code]) => code),
  );
  expect(Object.keys(RUN_ERROR_CODES).sort()).toEqual([...new Set(inCode)].sort());
});

test('no text of a catalogue sends its reader to a document that is not there, or breaks the table', () => {
  const texts = [
    ...Object.values(ERROR_CODES).flatMap(({ text, remedy }) => [text, remedy]),
    ...Object.values(PROBLEM_CODES).map(({ when }) => when),
    ...Object.values(RUN_ERROR_CODES),
  ];
  expect(texts.filter((text) => /CONTRACT|clause|\||\n/.test(text) || !text.endsWith('.'))).toEqual([]);
});
