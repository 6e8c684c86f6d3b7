import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const page = readFileSync('docs/operating.md', 'utf8');

/** Messages above `debug` that stand as a plain string in a call of a logger; the few with a variable part are in the page's other tables. */
function messagesInCode(): string[] {
  const files = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));
  const sources = files.map((file) => readFileSync(join('src', file), 'utf8')).join('\n');
  return [...new Set([...sources.matchAll(/[lL]ogger\.(?:info|warn|error)\(\s*'([^']+)'/g)].map((match) => match[1] ?? ''))];
}

test('docs/operating.md explains every log message above debug', () => {
  const messages = messagesInCode();
  expect(messages.length).toBeGreaterThan(3);
  expect(messages.filter((message) => !page.includes(`\`${message}\``))).toEqual([]);
});

test.each([
  ['state', 'src/core/status.ts', /ToolsetState = (.*);/],
  ['outcome', 'src/core/status.ts', /Outcome = (.*);/],
])('docs/operating.md explains every %s', (_what, file, type) => {
  const words = [...(type.exec(readFileSync(file, 'utf8'))?.[1] ?? '').matchAll(/'(\w+)'/g)].map((match) => match[1]);
  expect(words.length).toBeGreaterThan(3);
  expect(words.filter((word) => !page.includes(`\n| \`${word}\` |`))).toEqual([]);
});

test.each([
  ['trigger', /Trigger = (.*);/],
  ['reason for which a list is held', /reason: ('empty'.*);/],
])('docs/operating.md names every %s', (_what, type) => {
  const words = [...(type.exec(readFileSync('src/core/status.ts', 'utf8'))?.[1] ?? '').matchAll(/'(\w+)'/g)].map((match) => match[1]);
  expect(words.length).toBeGreaterThan(3);
  expect(words.filter((word) => !page.includes(`\`${word}\``))).toEqual([]);
});

test('docs/operating.md explains every field of a toolset that does not explain itself', () => {
  const [, fields = ''] = /export interface ToolsetStatus \{([\s\S]*?)\n\}/.exec(readFileSync('src/core/status.ts', 'utf8')) ?? [];
  const names = [...fields.matchAll(/^ {2}readonly (\w+):/gm)].map(([, name = '']) => name);
  expect(names).toContain('missedSignals');
  const plain = ['name', 'url', 'state', 'protocol', 'server', 'tools', 'fingerprint'];
  expect(names.filter((name) => !plain.includes(name) && !page.includes(`\`${name}\``))).toEqual([]);
});
