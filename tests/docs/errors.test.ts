import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ERROR_CODES } from '../../src/core/errors.js';

const page = readFileSync('docs/errors.md', 'utf8');
const [catalogue = '', answers = ''] = page.split('## Codes in HTTP answers');

test('docs/errors.md has every code of src/core/errors.ts with its patience and meaning, and no other', () => {
  const rows = [...catalogue.matchAll(/^\| `([A-Z_]+)` \| (\w+) \| (.*?) \| (.+) \|$/gm)];
  const documented = Object.fromEntries(rows.map(([, code, patience, text]) => [code, { patience, text }]));
  expect(documented).toEqual(ERROR_CODES);
});

test('docs/errors.md has every code that routes and runs answer with, and no other', () => {
  const files = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter((file) => /^(http|agent)\/.*\.ts$/.test(file));
  const sources = files.map((file) => readFileSync(join('src', file), 'utf8')).join('\n');
  const inCode = new Set([
    ...[...sources.matchAll(/new Problem\([^,]+, '(\w+)'/g)].map((match) => match[1]),
    ...[...sources.matchAll(/readonly code: ('[\w' |]+);/g)].flatMap((match) =>
      [...(match[1] ?? '').matchAll(/'(\w+)'/g)].map((code) => code[1]),
    ),
    'run_failed',
  ]);
  const rows = [...answers.matchAll(/^\| (`[a-z_`, ]+`) \|/gm)].flatMap((match) => [...(match[1] ?? '').matchAll(/`(\w+)`/g)]);
  expect([...new Set(rows.map((row) => row[1]))].sort()).toEqual([...inCode].sort());
});
