import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { publint } from 'publint';
import { askDemo, askHostApp, compileReadmeExample } from './as-a-user.js';
import { type InstalledPackage, installPackage } from './installed-package.js';
import { type PackedPackage, packPackage } from './packed-package.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const run = promisify(execFile);

let packed: PackedPackage;

beforeAll(async () => {
  packed = await packPackage();
}, 120_000);

const textOf = (file: string) => readFile(join(packed.folder, file), 'utf8');

describe('the tarball that npm pack makes in a fresh clone', () => {
  test('has the program, the demo and what README leads to, and nothing else', () => {
    const kinds = [
      /^(package\.json|LICENSE|(README|CHANGELOG|CONTRIBUTING)\.md|\.env\.example)$/,
      /^dist\/(?!page\/)[\w/-]+\.(js|d\.ts)$/,
      /^dist\/page\/((index|view-frame)\.html|icon\.svg|assets\/[\w-]+\.(js|css))$/,
      /^demo\/(data\/\w+\.(md|html|json)|toolsets\/[\w-]+\.json)$/,
      /^docs\/([\w-]+|decisions\/[\w-]+)\.md$/,
      /^docs\/benchmarks\/p\d+\.svg$/,
      /^docs\/(screenshots\/[\w-]+\.png|benchmarks\/[\w-]+\.svg)$/,
      /^examples\/host-app\/[\w-]+\.js$/,
      /^deploy\/[\w/-]+\.(md|yaml|json)$/,
    ];
    expect(packed.files.filter((file) => !kinds.some((kind) => kind.test(file)))).toEqual([]);
    expect(kinds.filter((kind) => !packed.files.some((file) => kind.test(file)))).toEqual([]);
  });

  test('has the compiled form and the types of every source file, and of no other', async () => {
    const sources = (await readdir(join(ROOT, 'src'), { recursive: true })).filter((file) => file.endsWith('.ts'));
    const expected = sources.map((file) => file.slice(0, -'.ts'.length)).flatMap((name) => [`dist/${name}.d.ts`, `dist/${name}.js`]);
    expect(packed.files.filter((file) => /^dist\/(?!page\/)/.test(file))).toEqual(expected.sort());
  });

  test('leads nowhere that it does not contain', async () => {
    const pages = packed.files.filter((file) => file.endsWith('.md') && !file.startsWith('demo/'));
    const dead = await Promise.all(
      pages.map(async (page) => {
        const prose = (await textOf(page)).replaceAll(/^ *```[\s\S]*?^ *```$/gm, '').replaceAll(/`[^`\n]+`/g, '');
        const targets = [...prose.matchAll(/\]\(([^)\s#]+)[^)]*\)/g)].map(([, target = '']) => decodeURIComponent(target));
        const gone = targets.filter((target) => !/^[a-z]+:/.test(target) && !existsSync(join(packed.folder, dirname(page), target)));
        return gone.map((target) => `${page}: ${target}`);
      }),
    );
    expect(dead.flat()).toEqual([]);
  });

  test('has only pictures that a page shows', async () => {
    const pages = await Promise.all(packed.files.filter((file) => /^docs\/[\w-]+\.md$/.test(file)).map(textOf));
    const shown = pages.flatMap((text) => [...text.matchAll(/\]\(([\w/-]+\.(?:png|svg))\)/g)].map(([, file = '']) => `docs/${file}`));
    expect(packed.files.filter((file) => /^docs\/.*\.(png|svg)$/.test(file))).toEqual([...new Set(shown)].sort());
  });

  test('does not give away where it was built', async () => {
    const places = [ROOT, packed.builtIn, `${homedir()}/`].filter((place) => place !== '/');
    const contents = await Promise.all(
      packed.files.map(async (file) => [file, await readFile(join(packed.folder, file), 'latin1')] as const),
    );
    expect(contents.filter(([, text]) => places.some((place) => text.includes(place))).map(([file]) => file)).toEqual([]);
  });

  test('comes from a build that can be executed, because npx in a checkout makes the command executable only once', async () => {
    const { mode } = await stat(join(packed.builtIn, 'dist/main.js'));
    expect(mode & 0o111).toBe(0o111);
  });

  test('stays small', async () => {
    expect((await stat(packed.tarball)).size).toBeLessThan(1_500_000);
  });

  test('has nothing that publint would change', async () => {
    const { buffer, byteOffset, byteLength } = await readFile(packed.tarball);
    const tarball = buffer.slice(byteOffset, byteOffset + byteLength) as ArrayBuffer;
    expect((await publint({ pack: { tarball }, strict: true })).messages).toEqual([]);
  });

  test('has types that every importer resolves', async () => {
    // The package is ES modules only: CommonJS code can import() it, and resolution as before Node 16 is not promised. The profile leaves out these two.
    const command = join(ROOT, 'node_modules', '@arethetypeswrong', 'cli', 'dist', 'index.js');
    const { stdout } = await run(process.execPath, [command, packed.tarball, '--profile', 'esm-only', '--format', 'json']);
    const { analysis } = JSON.parse(stdout) as { analysis: { types: { kind: string }; entrypoints: Record<string, unknown> } };
    expect(analysis.types).toEqual({ kind: 'included' });
    expect(Object.keys(analysis.entrypoints)).toEqual(['.', './package.json']);
  });
});

describe('installed without optional packages', () => {
  let installed: InstalledPackage;

  beforeAll(async () => {
    installed = await installPackage({ tarball: packed.tarball, optional: 'without' });
  }, 300_000);

  test('npm warns of nothing', () => {
    expect(installed.output).not.toMatch(/warn|deprecated/i);
    const optional = ['better-sqlite3', 'pg', '@langchain/langgraph-checkpoint-sqlite', '@langchain/langgraph-checkpoint-postgres'];
    expect(optional.filter(installed.has)).toEqual([]);
  });

  test('npx finds the command', async () => {
    expect(await installed.npx(['mcp-agent-api', '--version'])).toMatch(/^\d+\.\d+\.\d+\n$/);
  });

  test('the demo answers a question over HTTP, and shows its page', async () => {
    const { demo, url, turn } = await askDemo(installed);
    expect(turn.text).toContain('from the manual');
    expect(turn.events.at(-1)?.type).toBe('RUN_FINISHED');
    expect(await (await fetch(`${url}/`)).text()).toContain('<script type="module"');
    expect(await demo.stop()).toBe(0);
    expect(demo.stderr).toEqual([]);
  });

  test.each([
    ['sqlite:threads.db', 'better-sqlite3', 'npm install better-sqlite3@12 @langchain/langgraph-checkpoint-sqlite@1'],
    ['postgres://user:secret@127.0.0.1:9/threads', 'pg', 'npm install pg@8 @langchain/langgraph-checkpoint-postgres@1'],
  ])('%s stops the start with one line that says what to install', async (location, driver, command) => {
    const service = installed.start([], {
      MCP_URL: 'http://127.0.0.1:9/',
      PROVIDER_MODEL: 'openai:test-model',
      PROVIDER_API_KEY: 'test-key',
      MCP_AGENT_CHECKPOINT: location,
    });
    expect(await service.exited).toBe(1);
    expect(service.stderr).toEqual([
      `mcp-agent-api cannot start: MCP_AGENT_CHECKPOINT: this store needs the package ${driver}, which is not installed. Install it: ${command}`,
    ]);
  });

  test('the example application lets the model call a tool', async () => {
    const { host, turn } = await askHostApp(installed);
    expect(turn.events.find(({ type }) => type === 'TOOL_CALL_RESULT')?.content).toBe('found blue');
    expect(turn.text).toBe('There it is.');
    expect(await host.stop()).toBe(0);
  });

  test("README's example compiles, also when the compiler checks the types of libraries", async () => {
    expect(await compileReadmeExample(installed)).toBe('');
    // A type that could not be resolved would be `any`, which takes everything.
    expect(await compileReadmeExample(installed, 'const port: number = createRouter(refresher);\n')).toContain(
      "not assignable to type 'number'",
    );
  });
});
