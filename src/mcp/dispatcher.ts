import { Agent, type Dispatcher, EnvHttpProxyAgent } from 'undici';

/** Environment variables by name. */
export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Opens the pool of sockets for one connection, through a proxy where the environment names one (CONTRACT.md 4.9). Answers
 * have no time limit here: a notification stream is silent for hours, and every request brings its own signal.
 */
export function openDispatcher(options: { readonly env: Environment; readonly connectMs: number }): Dispatcher {
  const { env } = options;
  const sockets = {
    connect: { timeout: options.connectMs },
    headersTimeout: 0,
    bodyTimeout: 0,
    // Short, so that a request rarely meets a socket that the server is just closing.
    keepAliveTimeout: 2_000,
    keepAliveMaxTimeout: 4_000,
  };
  const httpProxy = env.http_proxy ?? env.HTTP_PROXY ?? '';
  const httpsProxy = env.https_proxy ?? env.HTTPS_PROXY ?? '';
  if (httpProxy === '' && httpsProxy === '') return new Agent(sockets);
  return new EnvHttpProxyAgent({ ...sockets, httpProxy, httpsProxy, noProxy: env.no_proxy ?? env.NO_PROXY ?? '' });
}
