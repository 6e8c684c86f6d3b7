import { execFile } from 'node:child_process';
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import { onCleanup } from '../support/cleanup.js';
import { readPages } from './pages.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const run = promisify(execFile);
const blocks = readPages().flatMap(({ path, blocks: all }) => all.map((block) => ({ ...block, path })));
const named = (language: string) => blocks.filter((block) => block.language === language);

/** What the blocks leave to the reader's own application. */
const SURROUNDINGS = `
import type { Request, RequestHandler } from 'express';
import type { AgentOfGeneration, ViewCacheOptions } from 'mcp-agent-api';
declare global {
  const apiKey: string;
  const requireUser: RequestHandler;
  const isAdministrator: (request: Request) => boolean;
  const signal: AbortSignal;
  const slot: { current: AgentOfGeneration };
  const readFromToolset: ViewCacheOptions['read'];
}
`;

/** Imports and values that a page has named before the block, for blocks without imports of their own. */
const BEFORE = `
import { fileURLToPath } from 'node:url';
import express from 'express';
import { createRouter, refreshSeconds, ToolsetRefresher, ViewCache } from 'mcp-agent-api';
declare const app: express.Express;
declare const refresher: ToolsetRefresher<import('mcp-agent-api').AgentOfGeneration>;
`;

test('every block of TypeScript agrees with the types of the library', async () => {
  expect(named('ts').length).toBeGreaterThan(2);
  const folder = await mkdtemp(join(tmpdir(), 'mcp-agent-api-blocks-'));
  onCleanup(() => rm(folder, { recursive: true }));
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  await writeFile(join(folder, 'package.json'), '{"type": "module"}');
  await writeFile(join(folder, 'surroundings.ts'), SURROUNDINGS);
  for (const [index, { path, text }] of named('ts').entries()) {
    const name = `${path.replaceAll(/\W+/g, '-')}-${index}.ts`;
    await writeFile(join(folder, name), text.includes('import ') ? text : `${BEFORE}\n${text}`);
  }
  const compilerOptions = {
    ...{ rootDir: '/', noEmit: true, noUnusedLocals: false, declaration: false },
    paths: { 'mcp-agent-api': [join(ROOT, 'src', 'index.ts')] },
  };
  await writeFile(
    join(folder, 'tsconfig.json'),
    JSON.stringify({ extends: join(ROOT, 'tsconfig.json'), compilerOptions, include: ['*.ts'] }),
  );
  const compiler = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
  const { stdout } = await run(process.execPath, [compiler, '-p', folder]).catch((error: { stdout?: string }) => ({
    stdout: error.stdout ?? String(error),
  }));
  expect(stdout).toBe('');
}, 60_000);

test('every block of JSON and YAML can be parsed', () => {
  const broken = [...named('json'), ...named('yaml')].filter(({ language, text }) => {
    try {
      if (language === 'json') JSON.parse(text);
      else parse(text);
      return false;
    } catch {
      // A block that cannot be parsed is what the test is about.
      return true;
    }
  });
  expect(broken).toEqual([]);
});

test('every block of shell commands is one that a shell can read', async () => {
  const broken: string[] = [];
  for (const { path, text } of named('sh')) {
    await run('bash', ['-n', '-c', text]).catch((error: Error) => broken.push(`${path}: ${error.message}`));
  }
  expect(broken).toEqual([]);
});

test('every block says its language', () => {
  expect(blocks.filter(({ language, path }) => language === '' && path !== 'docs/ARCHITECTURE.md').map(({ path }) => path)).toEqual([]);
});
