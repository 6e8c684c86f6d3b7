import { readFileSync } from 'node:fs';

/** What the command line asks for. */
export type Command =
  | { readonly kind: 'serve' }
  | { readonly kind: 'demo' }
  | { readonly kind: 'help'; readonly text: string }
  | { readonly kind: 'version'; readonly text: string }
  | { readonly kind: 'error'; readonly text: string };

const HELP = `mcp-agent-api serves an agent over HTTP whose MCP tools are never out of date.

Usage:
  mcp-agent-api            serve, as the environment or .env says
  mcp-agent-api demo       serve with built-in toolsets and a built-in model: no key, no network
  mcp-agent-api --help     show this text
  mcp-agent-api --version  show the version

Needed to serve:
  MCP_URL         an index of toolsets (URL or file), or one MCP endpoint
  PROVIDER_MODEL  provider:model, for example openai:gpt-5 (and its key in PROVIDER_API_KEY)

All other settings have defaults; README.md and .env.example list them.`;

/** Reads the arguments after the script's name. Never throws: what cannot be understood is of kind `error`, with one line that says why. */
export function parseArguments(argv: readonly string[]): Command {
  if (argv.some((argument) => argument === '--help' || argument === '-h')) return { kind: 'help', text: HELP };
  if (argv.some((argument) => argument === '--version' || argument === '-v')) return { kind: 'version', text: packageVersion() };
  const [command, surplus] = argv;
  if (command === undefined) return { kind: 'serve' };
  if (command !== 'demo') return unknown(command);
  return surplus === undefined ? { kind: 'demo' } : unknown(surplus);
}

/** The version in the package's own package.json. */
export function packageVersion(): string {
  const packageJson: { version: string } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
  return packageJson.version;
}

function unknown(argument: string): Command {
  const hint = argument.startsWith('-') ? 'settings are environment variables' : 'the only command is demo';
  return { kind: 'error', text: `mcp-agent-api does not know ${JSON.stringify(argument)} (${hint}); see mcp-agent-api --help.` };
}
