import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { effectiveValues } from '../../src/config/effective-values.js';
import { readEnvironment } from '../../src/config/environment.js';
import { ConfigError } from '../../src/config/setting.js';
import { isLoopback, readConfig, refreshSeconds } from '../../src/config.js';

const REQUIRED = { MCP_URL: 'http://127.0.0.1:9000/index', PROVIDER_MODEL: 'openai:gpt-5' };
const read = (env: Record<string, string | undefined> = {}) => readConfig({ ...REQUIRED, ...env });

function refusalOf(env: Record<string, string | undefined>): ConfigError {
  try {
    read(env);
  } catch (error) {
    if (error instanceof ConfigError) return error;
    throw error;
  }
  throw new Error(`accepted ${JSON.stringify(env)}`);
}

const DURATIONS = {
  MCP_AGENT_API_REFRESH_SECONDS: { field: 'refreshSeconds', fallback: 1800, zero: true },
  MCP_AGENT_API_POLLING_SECONDS: { field: 'pollingSeconds', fallback: 30, zero: false },
  MCP_AGENT_API_INDEX_SECONDS: { field: 'indexSeconds', fallback: 60, zero: true },
  MCP_AGENT_API_DEBOUNCE_MS: { field: 'debounceMs', fallback: 100, zero: true },
  MCP_AGENT_API_LIST_TIMEOUT_SECONDS: { field: 'listTimeoutSeconds', fallback: 10, zero: false },
  MCP_AGENT_API_HEARTBEAT_SECONDS: { field: 'heartbeatSeconds', fallback: 60, zero: true },
  MCP_AGENT_API_STARTUP_SECONDS: { field: 'startupSeconds', fallback: 60, zero: false },
  MCP_AGENT_API_READY_SECONDS: { field: 'readySeconds', fallback: 15, zero: true },
  MCP_AGENT_API_RUN_SECONDS: { field: 'runSeconds', fallback: 900, zero: false },
  MCP_AGENT_API_TOOL_SECONDS: { field: 'toolSeconds', fallback: 60, zero: false },
  MCP_AGENT_API_DRAIN_SECONDS: { field: 'drainSeconds', fallback: 25, zero: true },
  MCP_AGENT_THREAD_DAYS: { field: 'threadDays', fallback: 0, zero: true },
} as const;

describe.each(Object.entries(DURATIONS))('%s', (variable, { field, fallback, zero }) => {
  test.each([undefined, '', '   '])('has its default when it is %j', (value) => {
    expect(read({ [variable]: value })[field]).toBe(fallback);
  });

  test.each([
    ['12', 12],
    ['12.25', 12.25],
    [' 9 ', 9],
    ['0.5', 0.5],
  ])('takes the decimal number %j', (value, expected) => {
    expect(read({ [variable]: value })[field]).toBe(expected);
  });

  test.each([
    '-1',
    '-0',
    '+5',
    'NaN',
    'Infinity',
    '30m',
    '2m',
    '1e3',
    '0x10',
    '120_000',
    '1,5',
    'abc',
    '1.',
    '2147483648000',
    '1'.repeat(400),
  ])('refuses %j in one line with the name and what is allowed (B147)', (value) => {
    const error = refusalOf({ [variable]: value });
    expect(error.variable).toBe(variable);
    expect(error.message).toContain(variable);
    expect(error.message).toContain(value.slice(0, 50));
    expect(error.message).toMatch(/must be a plain number of (seconds|milliseconds|days)/);
    expect(error.message).not.toContain('\n');
  });

  test(zero ? 'takes 0 (B149)' : 'refuses 0 (B149)', () => {
    if (zero) expect(read({ [variable]: '0' })[field]).toBe(0);
    else expect(refusalOf({ [variable]: '0' }).message).toContain('more than 0');
  });
});

describe('the three polling intervals', () => {
  test('2 147 483 seconds is the longest (B148)', () => {
    expect(read({ MCP_AGENT_API_REFRESH_SECONDS: '2147483' }).refreshSeconds).toBe(2_147_483);
    expect(refusalOf({ MCP_AGENT_API_REFRESH_SECONDS: '2147483.1' }).message).toContain('from 0 to 2147483');
  });

  test('polling toolsets are never listed less often than the others', () => {
    expect(read({ MCP_AGENT_API_REFRESH_SECONDS: '5' }).pollingSeconds).toBe(5);
    expect(read({ MCP_AGENT_API_REFRESH_SECONDS: '5', MCP_AGENT_API_POLLING_SECONDS: '2' }).pollingSeconds).toBe(2);
  });

  test('without the safety poll nothing is polled, unless the index interval is set', () => {
    const quiet = read({ MCP_AGENT_API_REFRESH_SECONDS: '0', MCP_AGENT_API_POLLING_SECONDS: '2' });
    expect([quiet.refreshSeconds, quiet.pollingSeconds, quiet.indexSeconds]).toEqual([0, 0, 0]);
    expect(read({ MCP_AGENT_API_REFRESH_SECONDS: '0', MCP_AGENT_API_INDEX_SECONDS: '7' }).indexSeconds).toBe(7);
  });

  test('refreshSeconds reads the same variable for library hosts', () => {
    expect(refreshSeconds({})).toBe(1800);
    expect(refreshSeconds({ MCP_AGENT_API_REFRESH_SECONDS: '90.5' })).toBe(90.5);
    expect(() => refreshSeconds({ MCP_AGENT_API_REFRESH_SECONDS: '30m' })).toThrow(ConfigError);
  });
});

describe('the other settings', () => {
  test.each([
    [{ MCP_URL: undefined }, 'MCP_URL is not set'],
    [{ MCP_URL: 'ftp://example.com' }, 'MCP_URL is "ftp://example.com"'],
    [{ MCP_URL: 'localhost:9000/mcp' }, 'MCP_URL is "localhost:9000/mcp"'],
    [{ MCP_URL: 'http://' }, 'MCP_URL is "http://"'],
    [{ PROVIDER_MODEL: ' ' }, 'PROVIDER_MODEL is not set'],
    [{ PROVIDER_MODEL: 'gpt-5' }, 'PROVIDER_MODEL is "gpt-5"'],
    [{ PROVIDER_BASE_URL: '127.0.0.1:11434' }, 'PROVIDER_BASE_URL is'],
    [{ MCP_AGENT_API_MAX_RUNS: '0' }, 'a whole number from 1'],
    [{ MCP_AGENT_API_MAX_RUNS: '2.5' }, 'a whole number from 1'],
    [{ MCP_AGENT_API_REQUIRED: 'kb,*' }, 'or * alone'],
    [{ MCP_AGENT_API_CORS_ORIGINS: 'https://a.example/path' }, 'MCP_AGENT_API_CORS_ORIGINS is "https://a.example/path"'],
    [{ MCP_AGENT_API_CORS_ORIGINS: 'app.example' }, 'origins such as'],
    [{ MCP_AGENT_API_REVIEW: '*' }, 'MCP_AGENT_API_REVIEW is "*", but must be unset while MCP_AGENT_CHECKPOINT is memory'],
    [{ MCP_AGENT_API_REVIEW_FIRST: 'yes' }, 'one of hold, trust'],
    [{ MCP_AGENT_API_UI: 'true' }, 'one of on, off'],
    [{ MCP_AGENT_CHECKPOINT: 'sqlite:' }, 'memory, sqlite:PATH or postgres'],
    [{ MCP_AGENT_CHECKPOINT: 'redis://x' }, 'MCP_AGENT_CHECKPOINT is "redis://x"'],
    [{ MCP_AGENT_API_SYSTEM_PROMPT: 'file:/nowhere/prompt.txt' }, 'ENOENT'],
    [{ HOST: 'http://0.0.0.0' }, 'a host name or an IP address'],
    [{ PORT: '65536' }, 'a whole number from 0 to 65535'],
    [{ PORT: '80a' }, 'a whole number from 0 to 65535'],
    [{ LOG_LEVEL: 'loud' }, 'one of error, warn, info, debug'],
    [{ LOG_FORMAT: 'xml' }, 'one of json, pretty'],
  ])('%j is refused by name', (env, expected) => {
    const { message } = refusalOf(env);
    expect(message).toContain(expected);
    expect(message).not.toContain('\n');
  });

  test.each([
    { MCP_URL: 'https://user:hunter2@example.com/mcp' },
    { PROVIDER_BASE_URL: 'https://user:hunter2@example.com/v1' },
    { PROVIDER_API_KEY: 'hunter2 hunter2' },
    { MCP_AGENT_API_TOKEN: 'hunter2 with spaces' },
    { MCP_AGENT_API_ADMIN_TOKEN: 'hunter2ü' },
    { MCP_AGENT_API_REFRESH_TOKENS: 'hunter2' },
    { MCP_AGENT_API_REFRESH_TOKENS: 'kb=hunter2,kb=other' },
    { MCP_AGENT_CHECKPOINT: 'mysql://user:hunter2@db/x' },
  ])('the refusal of %j does not show the secret', (env) => {
    const { message } = refusalOf(env);
    expect(message).not.toContain('hunter2');
    expect(message).toContain(Object.keys(env)[0]);
  });

  test('a path, a file URL and a web URL may name the index', () => {
    for (const url of [
      './index.json',
      '/etc/mcp/index.json',
      'C:\\mcp\\index.json',
      'file:///etc/mcp.json',
      'https://mcp.example.com/index',
    ]) {
      expect(read({ MCP_URL: url }).mcpUrl).toBe(url);
    }
  });

  test('lists are split at commas, and * means all', () => {
    const config = read({
      MCP_AGENT_API_REQUIRED: ' kb , places,kb,',
      MCP_AGENT_API_REFRESH_TOKENS: 'kb=abc=, places=def',
      MCP_AGENT_API_CORS_ORIGINS: 'https://app.example.com, http://localhost:3000/',
    });
    expect(config.required).toEqual(['kb', 'places']);
    expect([...config.refreshTokens]).toEqual([
      ['kb', 'abc='],
      ['places', 'def'],
    ]);
    expect(config.corsOrigins).toEqual(['https://app.example.com', 'http://localhost:3000']);
    expect(read({ MCP_AGENT_API_REQUIRED: '*' }).required).toBe('*');
  });

  test.each(['memory', 'sqlite:/data/t.db', 'postgres://u:p@db/x', 'postgresql://db/x'])('the checkpoint place may be %s', (place) => {
    expect(read({ MCP_AGENT_CHECKPOINT: place }).checkpoint).toBe(place);
  });

  test('review is accepted with a checkpoint place that survives a restart', () => {
    expect(read({ MCP_AGENT_CHECKPOINT: 'sqlite:/data/t.db', MCP_AGENT_API_REVIEW: 'kb' }).review).toEqual(['kb']);
    expect(read().review).toEqual([]);
  });

  test('the page is on where only this machine can reach it', () => {
    expect(read().ui).toBe('on');
    expect(read({ HOST: '0.0.0.0' }).ui).toBe('off');
    expect(read({ HOST: '0.0.0.0', MCP_AGENT_API_UI: 'ON' }).ui).toBe('on');
    expect(['127.0.0.1', '127.9.9.9', 'localhost', '::1'].map(isLoopback)).toEqual([true, true, true, true]);
    expect(['0.0.0.0', '::', '10.0.0.1', '127.example.com'].map(isLoopback)).toEqual([false, false, false, false]);
  });
});

describe('effectiveValues', () => {
  test('names every variable that readConfig reads, and no other', () => {
    const asked = new Set<string>();
    const env = new Proxy<Record<string, string | undefined>>(REQUIRED, {
      get: (target, key) => {
        asked.add(String(key));
        return target[String(key)];
      },
    });
    expect(Object.keys(effectiveValues(readConfig(env))).sort()).toEqual([...asked].sort());
  });

  test('shows what is in use and masks every secret', () => {
    const values = effectiveValues(
      read({
        MCP_URL: 'https://mcp.example.com/index?key=hunter2',
        PROVIDER_API_KEY: 'hunter2',
        MCP_AGENT_API_TOKEN: 'hunter2',
        MCP_AGENT_API_ADMIN_TOKEN: 'hunter2',
        MCP_AGENT_API_REFRESH_TOKENS: 'kb=hunter2',
        MCP_AGENT_CHECKPOINT: 'postgres://u:hunter2@db/x',
        MCP_AGENT_API_DEBOUNCE_MS: '250',
      }),
    );
    expect(JSON.stringify(values)).not.toContain('hunter2');
    expect(values).toMatchObject({
      PROVIDER_MODEL: 'openai:gpt-5',
      PROVIDER_API_KEY: '***',
      MCP_AGENT_API_DEBOUNCE_MS: 250,
      MCP_AGENT_API_REFRESH_TOKENS: 'kb=***',
      PROVIDER_BASE_URL: 'not set',
    });
  });
});

describe('readEnvironment', () => {
  let folder = '';
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'config-test-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  test('adds what the file sets, and the environment wins', () => {
    const file = join(folder, '.env');
    writeFileSync(file, '# a comment\nMCP_URL="./index.json"\nPORT=9001\nLOG_LEVEL=debug\n');
    expect(readEnvironment({ env: { PORT: '9002', LOG_LEVEL: '' }, file })).toEqual({
      MCP_URL: './index.json',
      PORT: '9002',
      LOG_LEVEL: '',
    });
  });

  test('a missing file is no error, an unreadable one is', () => {
    expect(readEnvironment({ env: { PORT: '1' }, file: join(folder, 'missing') })).toEqual({ PORT: '1' });
    expect(() => readEnvironment({ env: {}, file: folder })).toThrow('cannot be read (EISDIR)');
  });

  test('a system prompt may come from a file', () => {
    const file = join(folder, 'prompt.txt');
    writeFileSync(file, 'Answer in one sentence.');
    expect(read({ MCP_AGENT_API_SYSTEM_PROMPT: `file:${file}` }).systemPrompt).toBe('Answer in one sentence.');
    expect(read({ MCP_AGENT_API_SYSTEM_PROMPT: 'Be brief.' }).systemPrompt).toBe('Be brief.');
    expect(read().systemPrompt).toBeUndefined();
  });
});
