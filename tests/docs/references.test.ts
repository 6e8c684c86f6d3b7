import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { EventType } from '@ag-ui/core';
import { parseArguments } from '../../src/cli.js';
import { effectiveValues } from '../../src/config/effective-values.js';
import { readConfig } from '../../src/config.js';
import { ERROR_CODES } from '../../src/core/errors.js';
import { ROUTES } from '../../src/http/route-table.js';
import { anchorsOf, codeIn, type Page, readPages } from './pages.js';

const pages = readPages();
const NO_PAGE: Page = { path: '', text: '', prose: '', blocks: [] };
const byPath = new Map(pages.map((page) => [page.path, page]));

/** What is wrong, as `page: finding`, so that a failing test shows all of it. */
function findings(read: (page: Page) => readonly string[]): string[] {
  return pages.flatMap((page) => read(page).map((finding) => `${page.path}: ${finding}`));
}

test('the pages are found, and their blocks and anchors are read', () => {
  expect(pages.map(({ path }) => path)).toEqual(expect.arrayContaining(['README.md', 'docs/operating.md', 'deploy/kubernetes/README.md']));
  expect(byPath.get('README.md')?.blocks.map(({ language }) => language)).toEqual(expect.arrayContaining(['sh', 'json', 'ts']));
  const prose = '## What it keeps, and where\n# `GET /views/{toolset}/{view}`\n# Twice\n# Twice\n';
  expect(anchorsOf({ path: '', text: prose, prose, blocks: [] })).toEqual([
    'what-it-keeps-and-where',
    'get-viewstoolsetview',
    'twice',
    'twice-1',
  ]);
});

test('every relative link leads to a file, and every anchor to a heading', () => {
  const broken = findings(({ path, prose }) => {
    const targets = [...prose.replaceAll(/`[^`\n]+`/g, '').matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = '']) => target);
    return targets.filter((target) => !/^[a-z]+:/.test(target) && !leadsSomewhere(path, target));
  });
  expect(broken).toEqual([]);
});

function leadsSomewhere(from: string, target: string): boolean {
  const [file = '', anchor] = target.split('#');
  const path = file === '' ? from : normalize(join(dirname(from), decodeURIComponent(file)));
  if (anchor === undefined) return existsSync(path);
  const page = byPath.get(path);
  return page !== undefined && anchorsOf(page).includes(anchor);
}

/** Roots of what a page may name in backticks; a room of `src/` may be named without it, as ARCHITECTURE.md does. */
const ROOTED = /^(?:\.ci|src|tests|docs|examples|deploy|soak|conformance|fixtures|web|bench|demo)\/[\w./*-]*$/;
const IN_ROOM = /^(?:core|mcp|refresh|agent|store|http|commands|config|demo)\/[\w-]+\.ts$/;

test('every file that a page names exists', () => {
  const missing = findings((page) =>
    codeIn(page).filter((code) => {
      if (IN_ROOM.test(code)) return !existsSync(join('src', code));
      // What a build makes is looked for where it is made from.
      const path = code.replace(/^dist\/(.*)\.js$/, 'src/$1.ts');
      return ROOTED.test(path) && !isThere(path);
    }),
  );
  expect(missing).toEqual([]);
});

function isThere(path: string): boolean {
  if (!path.includes('*')) return existsSync(path);
  const ending = path.slice(path.lastIndexOf('*') + 1);
  return existsSync(dirname(path)) && readdirSync(dirname(path)).some((file) => file.endsWith(ending));
}

test('every npm script that a page names is in package.json', () => {
  const scriptsOf = (folder: string) =>
    Object.keys((JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { scripts: object }).scripts);
  const unknown = findings(({ text }) =>
    [...text.matchAll(/npm (?:--prefix (\S+) )?run (?:--?\w+ )*([\w:-]+)/g)]
      .filter(([, folder = '.', script = '']) => !scriptsOf(folder).includes(script))
      .map(([whole]) => whole),
  );
  expect(unknown).toEqual([]);
});

const variables = new Set(Object.keys(effectiveValues(readConfig({ MCP_URL: 'http://127.0.0.1/', PROVIDER_MODEL: 'openai:gpt-5' }))));
/** The shell tools read these, or what is around the service does. */
const OTHER_VARIABLES = ['MCP_AGENT_API_REFRESH_TOKEN', 'HTTPS_PROXY', 'HTTP_PROXY', 'NO_PROXY', 'NODE_EXTRA_CA_CERTS', 'NO_COLOR'];
const sources = readdirSync('src', { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts'))
  .map((file) => readFileSync(join('src', file), 'utf8'))
  .join('\n');

test('every variable of the service that a page names is read by the service', () => {
  const unknown = findings(({ text }) =>
    [...text.matchAll(/\b(?:MCP_AGENT_[A-Z_]*[A-Z]|PROVIDER_[A-Z_]*[A-Z]|MCP_URL|LOG_[A-Z]+)\b/g)]
      .map(([name]) => name)
      .filter((name) => !variables.has(name) && !(OTHER_VARIABLES.includes(name) && sources.includes(name))),
  );
  expect(unknown).toEqual([]);
});

test('every other name in capitals is an error code, an event of AG-UI, an export, or a variable that is explained', () => {
  const known = new Set<string>([...variables, ...OTHER_VARIABLES, ...Object.keys(ERROR_CODES), ...Object.values(EventType)]);
  // `X_USER_TOKEN` and the like are examples of credentials; `APP_…` belongs to the example application.
  const example = /^(?:X_|MCP_HEADER_|APP_)[A-Z_]+$/;
  const unknown = findings((page) =>
    codeIn(page)
      .filter((code) => /^[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+$/.test(code))
      .filter((name) => !known.has(name) && !example.test(name) && !new RegExp(`\\bexport const ${name}\\b`).test(sources)),
  );
  expect(unknown).toEqual([]);
});

const routes = Object.values(ROUTES).map(({ method, path }) => `${method.toUpperCase()} ${shapeOf(path)}`);

/** A path with its parameters made equal, whatever they are called and however they are written. */
function shapeOf(path: string): string {
  return path
    .replace(/[?#].*$/, '')
    .replaceAll(/\{\w+\}|[:*]\w+|sha256-…/g, '{}')
    .replace(/^\/agent(?=\/)/, '');
}

test('every route that a page names, or asks with curl, is in the route table', () => {
  const known = new Set(['GET /', ...routes]);
  const unknown = findings(({ text }) => {
    const named = [...text.matchAll(/`(GET|HEAD|POST|PUT|DELETE) (\/[^\s`]*)`/g)].map(
      ([, method, path = '']) => `${method} ${shapeOf(path)}`,
    );
    const commands = text.replaceAll('\\\n', ' ').matchAll(/curl .*?(?:127\.0\.0\.1:8000|\$URL)(\/[^\s'"#]*).*/g);
    const asked = [...commands].map(([line, path = '']) => `${/ -X POST| -d /.test(line) ? 'POST' : 'GET'} ${shapeOf(path)}`);
    // `GET /views/…` means every route that begins so.
    const isKnown = (route: string) =>
      known.has(route) || (route.endsWith('/…') && routes.some((other) => other.startsWith(route.slice(0, -1))));
    return [...named, ...asked].filter((route) => !isKnown(route));
  });
  expect(unknown).toEqual([]);
});

test('every command that a page writes down is one that the command line understands', () => {
  const values: Readonly<Record<string, string>> = { FINGERPRINT: `sha256-${'0'.repeat(64)}` };
  const refused = findings(({ text }) =>
    [...text.matchAll(/mcp-agent-api ((?:watch|refresh|fingerprint|demo)\b[^`\n)#]*)/g)]
      .map(([, words = '']) => words.trim().split(/ +/))
      // Names in capitals stand for what the reader puts there; all of them but the fingerprint are URLs or names.
      .map((words) =>
        words.map((word) => word.replaceAll('"', '').replace(/^\$?([A-Z_]+)$/, (_, name) => values[name] ?? 'http://127.0.0.1/')),
      )
      .filter((argv) => parseArguments(argv).kind === 'error')
      .map((argv) => argv.join(' ')),
  );
  expect(refused).toEqual([]);
});

test('every option of a command that a page writes down is explained by --help', () => {
  const help = parseArguments(['--help']);
  const text = help.kind === 'help' ? help.text : '';
  const options = codeIn(byPath.get('docs/toolset-authors.md') ?? NO_PAGE).flatMap((code) => code.match(/--[a-z-]+/g) ?? []);
  expect(options).toContain('--expect');
  expect(options.filter((option) => !text.includes(option))).toEqual([]);
});

test("README's table of routes has every route, and no other", () => {
  const [, table = ''] = (byPath.get('README.md')?.text ?? '').split('## Routes');
  const rows = [...table.matchAll(/^\| ((?:`[A-Z]+ \/[^`]*`(?:, )?)+) \|/gm)].flatMap(([, cell = '']) => [
    ...cell.matchAll(/`([A-Z]+) (\/[^`]*)`/g),
  ]);
  expect(rows.map(([, method, path = '']) => `${method} ${shapeOf(path)}`).sort()).toEqual(['GET /', ...routes].sort());
});
