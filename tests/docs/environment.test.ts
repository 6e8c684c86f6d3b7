import { readFileSync } from 'node:fs';
import { effectiveValues } from '../../src/config/effective-values.js';
import { readConfig } from '../../src/config.js';

const defaults = effectiveValues(readConfig({ MCP_URL: 'http://127.0.0.1:9000/mcp-index', PROVIDER_MODEL: 'openai:gpt-5' }));
const variables = Object.keys(defaults).sort();

function readExample(): Record<string, string> {
  const lines = readFileSync('.env.example', 'utf8').matchAll(/^#?([A-Z][A-Z_]*)=(.*)$/gm);
  return Object.fromEntries([...lines].map(([, name, value]) => [name, value]));
}

/** Variables in the first column of README's table of settings. */
function readTable(): string[] {
  const rows = readFileSync('README.md', 'utf8').matchAll(/^\| ((?:`[A-Z_]+`(?:, )?)+) \|/gm);
  return [...rows].flatMap(([, cell = '']) => [...cell.matchAll(/`([A-Z_]+)`/g)].map((match) => match[1] ?? ''));
}

test('.env.example has every variable that the service reads, each once, and no other', () => {
  const names = [...readFileSync('.env.example', 'utf8').matchAll(/^#?([A-Z][A-Z_]*)=/gm)].map((match) => match[1]);
  expect(names.sort()).toEqual(variables);
});

test("README's table has every variable that the service reads, each once, and no other", () => {
  expect(readTable().sort()).toEqual(variables);
});

test('.env.example can be used as it is, and its numbers are the defaults', () => {
  expect(() => readConfig({ ...readExample(), MCP_AGENT_API_SYSTEM_PROMPT: '' })).not.toThrow();
  const numbers = Object.entries(readExample()).filter(([, value]) => /^\d+$/.test(value));
  expect(numbers.length).toBeGreaterThan(10);
  expect(Object.fromEntries(numbers.map(([name, value]) => [name, Number(value)]))).toEqual(
    Object.fromEntries(numbers.map(([name]) => [name, defaults[name]])),
  );
});
