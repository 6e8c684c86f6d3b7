import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, normalize } from 'node:path';
import * as library from '../../src/index.js';

const FOLDER = 'examples/host-app';
const page = readFileSync('docs/CONSUMING.md', 'utf8');
const examples = readdirSync(FOLDER).map((file) => readFileSync(join(FOLDER, file), 'utf8'));
const blocks = [...page.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)].map(([, language = '', text = '']) => ({ language, text }));

test('every code block of docs/CONSUMING.md stands word for word in an example that the tests run', () => {
  expect(blocks.length).toBeGreaterThan(6);
  expect(blocks.filter(({ text }) => !examples.some((example) => example.includes(`\n${text}`)))).toEqual([]);
});

test('docs/CONSUMING.md names every export of the library, and no other', () => {
  const [, list = ''] = page.split('## Everything that is exported');
  const rows = [...list.matchAll(/^\| ((?:`\w+`(?:, )?)+) \|/gm)].flatMap(([, names = '']) => [...names.matchAll(/`(\w+)`/g)]);
  expect(rows.map(([, name]) => name).sort()).toEqual(Object.keys(library).sort());
});

test('every link of docs/CONSUMING.md leads somewhere', () => {
  const targets = [...page.matchAll(/\]\(([^)]+)\)/g)].map(([, target = '']) => target);
  const headings = [...page.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => `#${heading.toLowerCase().replaceAll(' ', '-')}`);
  expect(targets.length).toBeGreaterThan(3);
  expect(
    targets.filter((target) => (target.startsWith('#') ? !headings.includes(target) : !existsSync(normalize(join('docs', target))))),
  ).toEqual([]);
});
