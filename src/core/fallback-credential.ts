/**
 * Variables that a toolset must not be able to ask for by declaring a header of that name: this service's own settings, the keys
 * of model providers and of clouds, databases and package registries, and what every process has in its environment.
 */
const RESERVED =
  /^(MCP_.*|PROVIDER_.*|OPENAI_.*|ANTHROPIC_.*|GOOGLE_.*|GEMINI_.*|MISTRAL_.*|LANGCHAIN_.*|LANGSMITH_.*|AWS_.*|AZURE_.*|GCP_.*|PG.*|POSTGRES.*|DATABASE_.*|NODE_.*|NPM_.*|KUBERNETES_.*|LOG_.*|HTTPS?_PROXY|NO_PROXY|HOST|HOSTNAME|PORT|PATH|HOME|USER|SHELL|PWD|LANG|TERM)$/;

/**
 * The environment variable whose value stands in for a declared credential header that a user does not send, for example
 * `X_DEMO_TOKEN` for `x-demo-token` (CONTRACT.md 7.6). Undefined for names that no toolset may ask for.
 */
export function fallbackVariable(header: string): string | undefined {
  const name = header.toUpperCase().replaceAll('-', '_');
  return RESERVED.test(name) ? undefined : name;
}
