import { execFile } from 'node:child_process';
import { access, mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { onCleanup } from '../support/cleanup.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const run = promisify(execFile);

/** A page of the browser, and everything that it complained about so far. */
export interface Tab {
  readonly page: Page;
  /** Console errors and warnings, uncaught errors, and requests to anywhere but `baseUrl`. */
  readonly complaints: readonly string[];
}

/** Starts a headless Chromium: the one of `CHROME_PATH`, or the one of the npm package. It ends with the test, or with the file. */
export async function startBrowser(): Promise<Browser> {
  const executablePath = process.env.CHROME_PATH || (await packagedChromium());
  // Chromium's own sandbox needs rights that containers and root do not have. The frames' sandbox, which the tests are about, is another one.
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] });
  onCleanup(() => browser.close());
  return browser;
}

/** Opens an address in a profile of its own. */
export async function openTab(browser: Browser, baseUrl: string, options: BrowserContextOptions = {}): Promise<Tab> {
  const context = await browser.newContext(options);
  onCleanup(() => context.close());
  // Less than a test may take, so that a wait in vain is reported as what it waited for.
  context.setDefaultTimeout(20_000);
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(`console ${message.type()}: ${message.text()}`);
  });
  page.on('pageerror', (error) => complaints.push(`uncaught: ${error.message}`));
  page.on('request', (request) => {
    if (!request.url().startsWith(`${baseUrl}/`)) complaints.push(`foreign request: ${request.url()}`);
  });
  await page.goto(`${baseUrl}/`);
  return { page, complaints };
}

/** The package holds the browser compressed. It is unpacked once per machine and version, in a way that two test files at a time do not disturb. */
async function packagedChromium(): Promise<string> {
  const { version } = JSON.parse(await readFile(join(ROOT, 'node_modules', '@sparticuz', 'chromium', 'package.json'), 'utf8'));
  const folder = join(tmpdir(), `mcp-agent-api-chromium-${version}`);
  const path = join(folder, 'chromium');
  if (await exists(path)) return path;
  const own = await mkdtemp(join(tmpdir(), 'mcp-agent-api-chromium-'));
  try {
    // The package unpacks into the temporary folder of its process.
    const script = "await (await import('@sparticuz/chromium')).default.executablePath()";
    await run(process.execPath, ['--input-type=module', '--eval', script], { cwd: ROOT, env: { ...process.env, TMPDIR: own } });
    await mkdir(folder, { recursive: true });
    await rename(join(own, 'chromium'), path);
  } finally {
    await rm(own, { recursive: true, force: true });
  }
  return path;
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    // A file that cannot be reached has to be made; making it says why where it cannot.
    () => false,
  );
}
