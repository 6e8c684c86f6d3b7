import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

interface Manifest {
  readonly name: string;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly optionalDependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
  readonly scripts: Readonly<Record<string, string>>;
}

const manifest = JSON.parse(readFileSync('package.json', 'utf8')) as Manifest;
const page = readFileSync('docs/dependencies.md', 'utf8');

const CODE = /\.(ts|tsx|js|mjs)$/;
/** What is built or installed; the projects that the benchmarks compare with have dependencies of their own. */
const SKIPPED = new Set(['node_modules', 'dist', 'peers']);

function codeUnder(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return SKIPPED.has(entry.name) ? [] : codeUnder(path);
    return CODE.test(entry.name) ? [path] : [];
  });
}

const read = (folders: readonly string[]) => folders.flatMap(codeUnder).map((path) => ({ path, text: readFileSync(path, 'utf8') }));
const product = read(['src']);
const rest = [
  ...read(['tests', 'web', 'soak', 'bench']),
  ...['jest.config.js'].map((path) => ({ path, text: readFileSync(path, 'utf8') })),
];

/** The packages that a file imports, when it starts or later; Node's own and the files of this project left out. */
function importsOf(text: string): string[] {
  const specifiers = [...text.matchAll(/^(?:import|import .* from|export .* from|\} from) '([^']+)'|\bimport\('([^']+)'\)/gm)].map(
    ([, now, later]) => now ?? later ?? '',
  );
  return specifiers.filter((name) => /^(@[a-z]|[a-z])/.test(name) && name !== manifest.name && !name.startsWith('node:')).map(packageOf);
}

function packageOf(specifier: string): string {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
}

/** The packages of the table below a heading of the page. */
function rowsOf(heading: string): string[] {
  const [, section = ''] = page.split(`\n## ${heading}\n`);
  const [table = ''] = section.split('\n## ');
  return [...table.matchAll(/^\| `([^`]+)` \|/gm)].map(([, name = '']) => name);
}

test.each([
  ['In production', manifest.dependencies],
  ['Optional', manifest.optionalDependencies],
  ['In development', manifest.devDependencies],
])('docs/dependencies.md, %s: names exactly those of package.json, each once and with a reason', (heading, packages) => {
  expect(rowsOf(heading)).toEqual(Object.keys(packages).sort());
  expect(page.split('\n').filter((line) => /^\| `[^`]+` \| *\|/.test(line))).toEqual([]);
});

test('the versions of docs/dependencies.md that are older than the newest are those of package.json', () => {
  const all = { ...manifest.dependencies, ...manifest.optionalDependencies, ...manifest.devDependencies };
  const rows = [...page.matchAll(/^\| `([^`]+)` (\d\S+) \|/gm)].map(([, name = '', version]) => [name, version]);
  expect(rows.length).toBeGreaterThan(5);
  expect(rows).toEqual(rows.map(([name = '']) => [name, all[name]]));
});

test('every version is exact but those of which a host has to have the same copy', () => {
  const all = { ...manifest.dependencies, ...manifest.optionalDependencies, ...manifest.devDependencies };
  const ranges = Object.keys(all).filter((name) => !/^\d/.test(all[name] ?? ''));
  const [, sentence = ''] = /Five are ranges: (.*?)\./.exec(page) ?? [];
  expect(ranges.sort()).toEqual([...sentence.matchAll(/`([^`]+)`/g)].map(([, name]) => name).sort());
});

test('a store that misses its packages names the major versions that package.json has', () => {
  const named = [...readFileSync('src/store/driver.ts', 'utf8').matchAll(/([@\w/-]+)@(\d+)(?=[ '])/g)];
  const wanted = Object.entries(manifest.optionalDependencies).map(([name, version]) => `${name}@${version.split('.')[0]}`);
  expect(named.map(([whole]) => whole).sort()).toEqual(wanted.sort());
});

test('the product imports nothing but production dependencies, and uses each of them', () => {
  const imported = new Set(product.flatMap(({ text }) => importsOf(text)));
  // LangChain loads a provider by the name that PROVIDER_MODEL has, and types are not loaded at all.
  const byName = ['@langchain/anthropic', '@langchain/openai', '@types/express'];
  expect([...imported, ...byName].sort()).toEqual(Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies }).sort());
});

test('everything that tests, page, soak and benchmarks import is declared', () => {
  const declared = { ...manifest.dependencies, ...manifest.optionalDependencies, ...manifest.devDependencies };
  const undeclared = rest.flatMap(({ path, text }) =>
    importsOf(text)
      .filter((name) => !(name in declared))
      .map((name) => `${path}: ${name}`),
  );
  expect(undeclared).toEqual([]);
});

test('each development dependency is used by code, by a script, or by the types of what is used', () => {
  const used = new Set([...product, ...rest].flatMap(({ text }) => importsOf(text)));
  const texts = [...Object.values(manifest.scripts), ...rest.map(({ text }) => text)].join('\n');
  // Named otherwise than it is called: by its command, by its path, or by what loads it.
  const commands: Readonly<Record<string, string>> = {
    '@biomejs/biome': 'biome check',
    typescript: 'tsc -p',
    '@swc/core': '@swc/jest',
    '@arethetypeswrong/cli': "'@arethetypeswrong', 'cli'",
  };
  const isUsed = (name: string): boolean =>
    used.has(name) || new RegExp(`['"\`/ ]${name}(?:['"\`/ ]|$)`, 'm').test(texts) || texts.includes(commands[name] ?? '\0');
  const unused = Object.keys(manifest.devDependencies).filter((name) => {
    const typed = /^@types\/(.*)/.exec(name)?.[1];
    return typed === undefined ? !isUsed(name) : typed !== 'node' && !isUsed(typed);
  });
  expect(unused).toEqual([]);
});
