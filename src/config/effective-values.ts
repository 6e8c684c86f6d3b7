import type { Config } from '../config.js';
import type { NameSet } from './setting.js';

/**
 * The values that the service runs with, by variable name, for the log line at start (CONTRACT.md 10). Secrets are masked:
 * the line says only whether they are set.
 */
export function effectiveValues(config: Config): Readonly<Record<string, string | number>> {
  return {
    MCP_URL: withoutSecrets(config.mcpUrl),
    PROVIDER_MODEL: config.provider.model,
    PROVIDER_API_KEY: masked(config.provider.apiKey),
    PROVIDER_BASE_URL: config.provider.baseUrl === undefined ? 'not set' : withoutSecrets(config.provider.baseUrl),
    MCP_AGENT_API_REFRESH_SECONDS: config.refreshSeconds,
    MCP_AGENT_API_POLLING_SECONDS: config.pollingSeconds,
    MCP_AGENT_API_INDEX_SECONDS: config.indexSeconds,
    MCP_AGENT_API_DEBOUNCE_MS: config.debounceMs,
    MCP_AGENT_API_LIST_TIMEOUT_SECONDS: config.listTimeoutSeconds,
    MCP_AGENT_API_HEARTBEAT_SECONDS: config.heartbeatSeconds,
    MCP_AGENT_API_STARTUP_SECONDS: config.startupSeconds,
    MCP_AGENT_API_READY_SECONDS: config.readySeconds,
    MCP_AGENT_API_REQUIRED: shownNames(config.required),
    MCP_AGENT_API_RUN_SECONDS: config.runSeconds,
    MCP_AGENT_API_TOOL_SECONDS: config.toolSeconds,
    MCP_AGENT_API_MAX_RUNS: config.maxRuns,
    MCP_AGENT_API_DRAIN_SECONDS: config.drainSeconds,
    MCP_AGENT_API_SYSTEM_PROMPT: config.systemPrompt === undefined ? 'default' : `${config.systemPrompt.length} characters`,
    MCP_AGENT_API_TOKEN: masked(config.token),
    MCP_AGENT_API_ADMIN_TOKEN: masked(config.adminToken),
    MCP_AGENT_API_REFRESH_TOKENS: listed([...config.refreshTokens.keys()].map((name) => `${name}=***`)),
    MCP_AGENT_API_CORS_ORIGINS: listed(config.corsOrigins),
    MCP_AGENT_API_REVIEW: shownNames(config.review),
    MCP_AGENT_API_REVIEW_FIRST: config.reviewFirst,
    MCP_AGENT_API_UI: config.ui,
    MCP_AGENT_CHECKPOINT: withoutSecrets(config.checkpoint),
    MCP_AGENT_THREAD_DAYS: config.threadDays,
    HOST: config.host,
    PORT: config.port,
    LOG_LEVEL: config.logLevel,
    LOG_FORMAT: config.logFormat,
  };
}

function masked(secret: string | undefined): string {
  return secret === undefined ? 'not set' : '***';
}

function listed(values: readonly string[]): string {
  return values.length === 0 ? 'none' : values.join(',');
}

function shownNames(set: NameSet): string {
  return set === '*' ? set : listed(set);
}

/** A URL without user info, and with the values of its query masked: some services carry their key there. */
function withoutSecrets(text: string): string {
  if (!URL.canParse(text)) return text;
  const url = new URL(text);
  if (url.username !== '') url.username = '***';
  if (url.password !== '') url.password = '***';
  for (const key of [...url.searchParams.keys()]) url.searchParams.set(key, '***');
  return url.href;
}
