import { readFileSync } from 'node:fs';
import {
  ConfigError,
  type Environment,
  isHeaderSafe,
  type NameSet,
  readNameSet,
  readNames,
  readNumber,
  readSecret,
  readText,
  readWebUrl,
  readWhole,
  readWord,
  refusal,
} from './config/setting.js';

/** Every setting of the service, read and checked (CONTRACT.md 10). */
export interface Config {
  /** An index (URL or file) or one MCP endpoint. */
  readonly mcpUrl: string;
  readonly provider: {
    /** `provider:model`, for LangChain's `initChatModel`. */
    readonly model: string;
    readonly apiKey: string | undefined;
    readonly baseUrl: string | undefined;
  };
  /** 0 turns the safety poll off; then `pollingSeconds` is 0 too. */
  readonly refreshSeconds: number;
  readonly pollingSeconds: number;
  /** 0 reads the index only at start and when asked to. */
  readonly indexSeconds: number;
  readonly debounceMs: number;
  readonly listTimeoutSeconds: number;
  /** 0 sends no heartbeat. */
  readonly heartbeatSeconds: number;
  readonly startupSeconds: number;
  readonly readySeconds: number;
  readonly required: NameSet;
  readonly runSeconds: number;
  readonly toolSeconds: number;
  readonly maxRuns: number;
  readonly drainSeconds: number;
  /** Undefined leaves the choice to the agent, which has a short prompt of its own. */
  readonly systemPrompt: string | undefined;
  readonly token: string | undefined;
  readonly adminToken: string | undefined;
  /** The token of a toolset's deploy pipeline, by toolset name. */
  readonly refreshTokens: ReadonlyMap<string, string>;
  /** Origins that may use the API from a browser; none means no CORS headers at all. */
  readonly corsOrigins: readonly string[];
  readonly review: NameSet;
  /** What happens to the first list ever of a reviewed toolset. */
  readonly reviewFirst: 'hold' | 'trust';
  readonly ui: 'on' | 'off';
  /** Where threads are kept: `memory`, `sqlite:PATH` or `postgres://…` (CONTRACT.md 16). */
  readonly checkpoint: string;
  /** 0 keeps idle threads for ever. */
  readonly threadDays: number;
  readonly host: string;
  readonly port: number;
  readonly logLevel: 'error' | 'warn' | 'info' | 'debug';
  readonly logFormat: 'json' | 'pretty';
}

/**
 * Reads the configuration from environment variables. Durations are in the unit that the variable's name ends in; an unset or
 * blank variable has its default. Throws a {@link ConfigError} for the first value that cannot be used.
 */
export function readConfig(env: Environment): Config {
  const every = refreshSeconds(env);
  const host = readText(env, 'HOST') ?? '127.0.0.1';
  if (/[\s/]/.test(host)) throw refusal('HOST', host, 'a host name or an IP address');
  const checkpoint = readCheckpoint(env);
  return {
    mcpUrl: readMcpUrl(env),
    provider: { model: readModel(env), apiKey: readSecret(env, 'PROVIDER_API_KEY'), baseUrl: readWebUrl(env, 'PROVIDER_BASE_URL') },
    refreshSeconds: every,
    pollingSeconds: Math.min(readNumber(env, 'MCP_AGENT_API_POLLING_SECONDS', { fallback: 30, unit: 'seconds' }), every),
    indexSeconds: readNumber(env, 'MCP_AGENT_API_INDEX_SECONDS', {
      fallback: every === 0 ? 0 : 60,
      unit: 'seconds',
      zero: 'reads the index only at start and on request',
    }),
    debounceMs: readNumber(env, 'MCP_AGENT_API_DEBOUNCE_MS', { fallback: 100, unit: 'milliseconds', zero: 'opens a round at once' }),
    listTimeoutSeconds: readNumber(env, 'MCP_AGENT_API_LIST_TIMEOUT_SECONDS', { fallback: 10, unit: 'seconds' }),
    heartbeatSeconds: readNumber(env, 'MCP_AGENT_API_HEARTBEAT_SECONDS', { fallback: 60, unit: 'seconds', zero: 'sends none' }),
    startupSeconds: readNumber(env, 'MCP_AGENT_API_STARTUP_SECONDS', { fallback: 60, unit: 'seconds' }),
    readySeconds: readNumber(env, 'MCP_AGENT_API_READY_SECONDS', { fallback: 15, unit: 'seconds', zero: 'waits for the first agent only' }),
    required: readNameSet(env, 'MCP_AGENT_API_REQUIRED'),
    runSeconds: readNumber(env, 'MCP_AGENT_API_RUN_SECONDS', { fallback: 900, unit: 'seconds' }),
    toolSeconds: readNumber(env, 'MCP_AGENT_API_TOOL_SECONDS', { fallback: 60, unit: 'seconds' }),
    maxRuns: readWhole(env, 'MCP_AGENT_API_MAX_RUNS', { fallback: 100, least: 1, most: 100_000 }),
    drainSeconds: readNumber(env, 'MCP_AGENT_API_DRAIN_SECONDS', { fallback: 25, unit: 'seconds', zero: 'ends running runs at once' }),
    systemPrompt: readSystemPrompt(env),
    token: readSecret(env, 'MCP_AGENT_API_TOKEN'),
    adminToken: readSecret(env, 'MCP_AGENT_API_ADMIN_TOKEN'),
    refreshTokens: readRefreshTokens(env),
    corsOrigins: readCorsOrigins(env),
    review: readReview(env, checkpoint),
    reviewFirst: readWord(env, 'MCP_AGENT_API_REVIEW_FIRST', { fallback: 'hold', words: ['hold', 'trust'] }),
    ui: readWord(env, 'MCP_AGENT_API_UI', { fallback: isLoopback(host) ? 'on' : 'off', words: ['on', 'off'] }),
    checkpoint,
    threadDays: readNumber(env, 'MCP_AGENT_THREAD_DAYS', { fallback: 0, unit: 'days', zero: 'keeps all threads', most: 36_500 }),
    host,
    port: readWhole(env, 'PORT', { fallback: 8000, least: 0, most: 65_535 }),
    logLevel: readWord(env, 'LOG_LEVEL', { fallback: 'info', words: ['error', 'warn', 'info', 'debug'] }),
    logFormat: readWord(env, 'LOG_FORMAT', { fallback: 'json', words: ['json', 'pretty'] }),
  };
}

/**
 * The interval of the safety poll in seconds, from `MCP_AGENT_API_REFRESH_SECONDS`: 1800 when unset, 0 for no poll.
 * For hosts that use the library with the service's own setting (CONTRACT.md 12). Throws a {@link ConfigError} for a bad value.
 */
export function refreshSeconds(env: Environment = process.env): number {
  return readNumber(env, 'MCP_AGENT_API_REFRESH_SECONDS', {
    fallback: 1800,
    unit: 'seconds',
    zero: 'turns the safety poll off; notifications and reconnects still refresh',
  });
}

/** Whether a server on this host can be reached from this machine only. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host);
}

function readMcpUrl(env: Environment): string {
  const allowed = 'an http:// or https:// URL, a file: URL, or the path of an index file';
  const text = readText(env, 'MCP_URL');
  if (text === undefined) throw new ConfigError('MCP_URL', `is not set; it must be ${allowed}.`);
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(text)?.[1]?.toLowerCase();
  // A single letter is a Windows drive.
  if (scheme === undefined || scheme.length === 1) return text;
  if (scheme === 'http' || scheme === 'https') return readWebUrl(env, 'MCP_URL') ?? text;
  // `localhost:9000/mcp` is a URL without its scheme, not a path.
  if (scheme !== 'file' || !URL.canParse(text)) throw refusal('MCP_URL', text, allowed);
  return text;
}

function readModel(env: Environment): string {
  const allowed = 'provider:model, for example openai:gpt-5 or anthropic:claude-sonnet-4-5';
  const text = readText(env, 'PROVIDER_MODEL');
  if (text === undefined) throw new ConfigError('PROVIDER_MODEL', `is not set; it must be ${allowed}.`);
  if (!/^[a-z][a-z0-9_-]*:\S+$/i.test(text)) throw refusal('PROVIDER_MODEL', text, allowed);
  return text;
}

function readSystemPrompt(env: Environment): string | undefined {
  const variable = 'MCP_AGENT_API_SYSTEM_PROMPT';
  const text = readText(env, variable);
  if (!text?.startsWith('file:')) return text;
  try {
    return readFileSync(text.startsWith('file://') ? new URL(text) : text.slice('file:'.length), 'utf8');
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown error';
    throw refusal(variable, text, `a text, or file: and the path of a file that can be read (${code})`);
  }
}

function readRefreshTokens(env: Environment): ReadonlyMap<string, string> {
  const variable = 'MCP_AGENT_API_REFRESH_TOKENS';
  const tokens = new Map<string, string>();
  for (const pair of readNames(env, variable)) {
    const at = pair.indexOf('=');
    const name = pair.slice(0, at).trim();
    const token = pair.slice(at + 1).trim();
    if (at < 1 || name === '' || !isHeaderSafe(token) || tokens.has(name)) {
      throw new ConfigError(variable, 'is set to a value (not shown here) that is not name=token with commas between, each name once.');
    }
    tokens.set(name, token);
  }
  return tokens;
}

function readCorsOrigins(env: Environment): readonly string[] {
  const variable = 'MCP_AGENT_API_CORS_ORIGINS';
  return readNames(env, variable).map((text) => {
    const url = URL.canParse(text) ? new URL(text) : undefined;
    const isOrigin = url !== undefined && (url.protocol === 'http:' || url.protocol === 'https:') && `${url.origin}/` === url.href;
    if (!isOrigin) throw refusal(variable, text, 'origins such as https://app.example.com, with commas between them');
    return url.origin;
  });
}

function readReview(env: Environment, checkpoint: string): NameSet {
  const variable = 'MCP_AGENT_API_REVIEW';
  const review = readNameSet(env, variable);
  // Approvals must survive a restart; in memory they would be forgotten (CONTRACT.md 15.2).
  if (review.length > 0 && checkpoint === 'memory') {
    throw refusal(variable, readText(env, variable) ?? '', 'unset while MCP_AGENT_CHECKPOINT is memory, which forgets approvals');
  }
  return review;
}

function readCheckpoint(env: Environment): string {
  const variable = 'MCP_AGENT_CHECKPOINT';
  const text = readText(env, variable) ?? 'memory';
  if (text === 'memory' || /^sqlite:./.test(text) || (/^postgres(ql)?:\/\/./.test(text) && URL.canParse(text))) return text;
  const allowed = 'memory, sqlite:PATH or postgres://…';
  // A database URL usually holds a password.
  if (text.includes('@')) throw new ConfigError(variable, `is set to a value (not shown here) that is not ${allowed}.`);
  throw refusal(variable, text, allowed);
}
