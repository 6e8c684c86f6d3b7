#!/usr/bin/env node
import type { AddressInfo } from 'node:net';
import { EnvHttpProxyAgent, setGlobalDispatcher } from 'undici';
import { packageVersion, parseArguments } from './cli.js';
import type { ClientCommand } from './commands/arguments.js';
import { runCommand } from './commands/run-command.js';
import { effectiveValues } from './config/effective-values.js';
import { readEnvironment } from './config/environment.js';
import { ConfigError, type Environment } from './config/setting.js';
import { type Config, isLoopback, readConfig } from './config.js';
import type { Logger } from './core/ports.js';
import { demoBanner } from './demo/banner.js';
import { DEMO_ADMIN_TOKEN, type Demo, demoEnvironment, startDemo } from './demo/demo.js';
import { closeServer, listen } from './http/application.js';
import { createLogger, logOncePer5Minutes } from './logging.js';
import { type App, createApp } from './service.js';
import { systemClock } from './system-clock.js';

/** What is left of open answers after the drain is cut after this. */
const CLOSE_GRACE_MS = 2_000;

async function main(): Promise<void> {
  const command = parseArguments(process.argv.slice(2));
  switch (command.kind) {
    case 'help':
    case 'version':
      process.stdout.write(`${command.text}\n`);
      return;
    case 'error':
      process.stderr.write(`${command.text}\n`);
      process.exitCode = 2;
      return;
    case 'serve': {
      const env = readEnvironment();
      const config = readConfig(env);
      await serve({ config, env, logger: loggerOf(config), demo: undefined });
      return;
    }
    case 'demo':
      await serveDemo(readEnvironment());
      return;
    default:
      await carryOut(command);
  }
}

/** A command that is a client: it ends by itself, or in order at the first interrupt. */
async function carryOut(command: ClientCommand): Promise<void> {
  const env = readEnvironment();
  heedProxies(env);
  const ended = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => ended.abort());
  // Whoever reads the output may have seen enough, as `head` has.
  process.stdout.on('error', () => process.exit(0));
  const terminal = {
    out: (line: string) => void process.stdout.write(`${line}\n`),
    note: (line: string) => void process.stderr.write(`${line}\n`),
    colours: process.stdout.isTTY === true && !env.NO_COLOR && env.TERM !== 'dumb',
  };
  process.exitCode = await runCommand(command, { env, terminal, clock: systemClock, signal: ended.signal, version: packageVersion() });
}

async function serveDemo(env: Environment): Promise<void> {
  const demoEnv = demoEnvironment(env, 'http://127.0.0.1');
  const logger = loggerOf(readConfig(demoEnv));
  const demo = await startDemo({ logger });
  await serve({ config: readConfig(demoEnvironment(env, demo.indexUrl)), env, logger, demo });
}

function loggerOf({ logLevel, logFormat }: Config): Logger {
  return logOncePer5Minutes(createLogger({ level: logLevel, format: logFormat }), systemClock);
}

interface Serving {
  readonly config: Config;
  readonly env: Environment;
  readonly logger: Logger;
  readonly demo: Demo | undefined;
}

async function serve({ config, env, logger, demo }: Serving): Promise<void> {
  heedProxies(env);
  const app = await createApp(config, { logger, env, ...(demo === undefined ? {} : { model: demo.model }) });
  const server = await listen(app.application, config);
  const { port } = server.address() as AddressInfo;
  logger.info('listening', { host: config.host, port });
  logger.info('configuration', effectiveValues(config));
  if (config.token === undefined && !isLoopback(config.host)) {
    logger.warn('anyone who reaches this port may use the API', { host: config.host, variable: 'MCP_AGENT_API_TOKEN' });
  }

  const stop = async (): Promise<void> => {
    await app.drain();
    await closeServer(server, CLOSE_GRACE_MS);
    await app.stop();
    await demo?.close();
  };
  endOnSignals(stop, logger);
  try {
    await app.start();
  } catch (error) {
    if (ending) return;
    await stop();
    throw error;
  }
  warnOfUnknownNames(app, config, logger);
  logger.info('ready for runs', { generation: app.refresher.current?.number ?? 0, readiness: readinessOf(app) });
  if (demo !== undefined) {
    const ownToken = config.adminToken === DEMO_ADMIN_TOKEN ? { adminToken: DEMO_ADMIN_TOKEN } : {};
    process.stdout.write(
      demoBanner({ baseUrl: `http://${shownHost(config.host)}:${port}`, files: demo.files, urls: demo.urls, ...ownToken }),
    );
  }
}

/** A mistyped name leaves a toolset without review, or its pipeline without a token; but the index may also name it later, so this is no reason to stop. */
function warnOfUnknownNames({ refresher }: App, { review, refreshTokens }: Config, logger: Logger): void {
  const known = new Set(refresher.status().toolsets.map(({ name }) => name));
  const named = { MCP_AGENT_API_REVIEW: review === '*' ? [] : review, MCP_AGENT_API_REFRESH_TOKENS: [...refreshTokens.keys()] };
  for (const [variable, names] of Object.entries(named)) {
    const unknown = names.filter((name) => !known.has(name));
    if (unknown.length > 0) logger.warn('setting names toolsets that the index does not', { variable, toolsets: unknown });
  }
}

function readinessOf({ refresher }: App): string {
  const { failing } = refresher.readiness();
  return failing.length === 0 ? 'complete' : `without ${failing.join(', ')}`;
}

function shownHost(host: string): string {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1';
  return host.includes(':') ? `[${host}]` : host;
}

/** The provider's client uses the global fetch, which reads the proxy variables only when it is told to (CONTRACT.md 4.9). */
function heedProxies(env: Environment): void {
  const set = (name: string): string | undefined => env[name.toLowerCase()] || env[name] || undefined;
  const httpProxy = set('HTTP_PROXY');
  const httpsProxy = set('HTTPS_PROXY');
  if (httpProxy === undefined && httpsProxy === undefined) return;
  setGlobalDispatcher(new EnvHttpProxyAgent({ httpProxy, httpsProxy, noProxy: set('NO_PROXY') }));
}

let ending = false;

/** The first signal ends the service in order, a second one at once (CONTRACT.md 11.3). */
function endOnSignals(stop: () => Promise<void>, logger: Logger): void {
  const end = (signal: NodeJS.Signals): void => {
    if (ending) process.exit(1);
    ending = true;
    logger.info('shutting down', { signal });
    stop().then(
      () => process.exit(0),
      (error: unknown) => {
        logger.error('shutdown failed', { error: error instanceof Error ? error.message : String(error) });
        process.exit(1);
      },
    );
  };
  process.on('SIGTERM', end);
  process.on('SIGINT', end);
}

/** What to set when the port or the address cannot be used. */
function adviceOn(error: Error): string {
  const code = 'code' in error ? error.code : undefined;
  if (code === 'EADDRINUSE' || code === 'EACCES') return '; set PORT to another one';
  return code === 'EADDRNOTAVAIL' ? '; set HOST to an address of this machine' : '';
}

main().catch((error: unknown) => {
  // The one place where the process ends because of an error: the person who starts it needs the reason, not a stack.
  const text = error instanceof Error ? `${error.message}${adviceOn(error)}` : String(error);
  process.stderr.write(error instanceof ConfigError ? `${text}\n` : `mcp-agent-api cannot start: ${text}\n`);
  process.exit(1);
});
