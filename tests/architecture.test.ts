import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const SRC = fileURLToPath(new URL('../src', import.meta.url));
const MOST_LINES = 250;

/** What the rooms may import of each other (docs/ARCHITECTURE.md). A file outside a folder is a room of its own. */
const ROOMS: Readonly<Record<string, readonly string[]>> = {
  core: [],
  'system-clock': ['core'],
  turnstile: [],
  config: [],
  logging: ['core'],
  cli: ['commands'],
  commands: ['core', 'mcp', 'turnstile'],
  mcp: ['core', 'turnstile'],
  agent: ['core'],
  refresh: ['core', 'mcp', 'system-clock'],
  http: ['core', 'agent', 'system-clock', 'turnstile'],
  store: ['core', 'agent', 'system-clock'],
  demo: ['core', 'config'],
  // These three put the rooms together.
  service: ['core', 'config', 'agent', 'http', 'refresh', 'store', 'system-clock'],
  index: ['core', 'config', 'agent', 'http', 'refresh', 'store', 'service', 'system-clock'],
  main: ['core', 'config', 'cli', 'commands', 'demo', 'http', 'logging', 'service', 'system-clock'],
};

/** Which rooms may import a package; a name that ends in a slash stands for everything below it. `service` hands types on. */
const PACKAGES: Readonly<Record<string, readonly string[]>> = {
  '@modelcontextprotocol/client': ['mcp'],
  '@modelcontextprotocol/ext-apps': ['core', 'mcp', 'demo'],
  '@modelcontextprotocol/sdk': ['demo'],
  '@modelcontextprotocol/server': ['demo'],
  '@modelcontextprotocol/node': ['demo'],
  '@langchain/': ['agent', 'demo', 'service', 'store'],
  pg: ['store'],
  'better-sqlite3': ['store'],
  langchain: ['agent'],
  express: ['http', 'service'],
  '@ag-ui/': ['http'],
  'eventsource-parser': ['commands', 'mcp'],
  undici: ['mcp', 'main'],
  eventemitter3: ['refresh'],
  'p-retry': ['refresh'],
  'prom-client': ['http'],
  winston: ['logging'],
  zod: ['core', 'commands', 'mcp', 'agent', 'http', 'store', 'demo'],
};

interface SourceFile {
  readonly path: string;
  readonly room: string;
  readonly text: string;
  /** What it imports or re-exports, as it is written. */
  readonly imports: readonly string[];
}

const FILES: readonly SourceFile[] = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.ts'))
  .map((path) => {
    const text = readFileSync(join(SRC, path), 'utf8');
    const imports = [...text.matchAll(/^(?:import|export)\b[^;]*?\bfrom\s+'([^']+)'|\bimport\(\s*'([^']+)'|^import\s+'([^']+)'/gm)];
    return { path, room: roomOf(path), text, imports: imports.map(([, from, dynamic, bare]) => from ?? dynamic ?? bare ?? '') };
  });

function roomOf(path: string): string {
  return path.replace(/\.ts$/, '').split('/')[0] ?? '';
}

/** The other room that an import leads to; undefined for packages and within the same room. */
function targetOf(file: SourceFile, specifier: string): string | undefined {
  if (!specifier.startsWith('.')) return undefined;
  const target = roomOf(relative(SRC, normalize(join(SRC, dirname(file.path), specifier.replace(/\.js$/, '.ts')))));
  return target === file.room ? undefined : target;
}

/** The name of an imported package; undefined for files and for Node's own modules. */
function packageOf(specifier: string): string | undefined {
  if (specifier.startsWith('.') || specifier.startsWith('node:')) return undefined;
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
}

function offences(judge: (file: SourceFile) => readonly (string | undefined)[]): string[] {
  return FILES.flatMap((file) =>
    judge(file)
      .filter((found) => found !== undefined)
      .map((found) => `${file.path}: ${found}`),
  );
}

test('the sources are found, and their imports are read', () => {
  expect(FILES.length).toBeGreaterThan(50);
  expect(FILES.find(({ path }) => path === 'service.ts')?.imports).toContain('./refresh/refresher.js');
});

test('every room imports only the rooms that it stands on', () => {
  expect(FILES.map(({ room }) => room).filter((room) => ROOMS[room] === undefined)).toEqual([]);
  expect(
    offences((file) =>
      file.imports.map((specifier) => {
        const target = targetOf(file, specifier);
        return target === undefined || ROOMS[file.room]?.includes(target) ? undefined : `imports ${specifier}`;
      }),
    ),
  ).toEqual([]);
});

test('every package is imported only by the room that owns it', () => {
  expect(
    offences((file) =>
      file.imports.map((specifier) => {
        const name = packageOf(specifier);
        if (name === undefined) return undefined;
        const rule = Object.keys(PACKAGES).find((rule) => (rule.endsWith('/') ? name.startsWith(rule) : name === rule));
        return rule !== undefined && PACKAGES[rule]?.includes(file.room) ? undefined : `imports ${specifier}`;
      }),
    ),
  ).toEqual([]);
});

test('core does no I/O, and takes time and chance as arguments', () => {
  const impure = /\b(?:Date\.now|new Date\(\)|Math\.random|performance\.now|setTimeout|setInterval|setImmediate|process\.|fetch\()/;
  const core = (file: SourceFile) => file.room === 'core';
  expect(
    offences((file) =>
      core(file) ? file.imports.filter((specifier) => specifier.startsWith('node:') && specifier !== 'node:crypto') : [],
    ),
  ).toEqual([]);
  expect(offences((file) => (core(file) ? [impure.exec(withoutComments(file.text))?.[0]] : []))).toEqual([]);
});

test(`no file has more than ${MOST_LINES} lines`, () => {
  const long = (text: string) => text.trimEnd().split('\n').length;
  expect(offences(({ text }) => (long(text) > MOST_LINES ? [`${long(text)} lines`] : []))).toEqual([]);
});

test('there is no default export, no enum, and nothing is written to the console', () => {
  const unwanted = /\bexport default\b|\bexport\s*\{[^}]*\bas default\b|^\s*(?:export\s+)?(?:const\s+)?enum\s|\bconsole\./m;
  expect(offences(({ text }) => [unwanted.exec(withoutComments(text))?.[0]])).toEqual([]);
});

function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/^\s*\/\/.*$/gm, '');
}
