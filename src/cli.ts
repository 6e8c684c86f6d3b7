import { readFileSync } from 'node:fs';
import { CLIENT_COMMANDS, type ClientCommand, parseClientCommand } from './commands/arguments.js';

/** What the command line asks for. */
export type Command =
  | { readonly kind: 'serve' }
  | { readonly kind: 'demo' }
  | ClientCommand
  | { readonly kind: 'help'; readonly text: string }
  | { readonly kind: 'version'; readonly text: string }
  | { readonly kind: 'error'; readonly text: string };

const HELP = `mcp-agent-api serves an agent over HTTP whose MCP tools are never out of date.

Usage:
  mcp-agent-api            serve, as the environment or .env says
  mcp-agent-api demo       serve with built-in toolsets and a built-in model: no key, no network
  mcp-agent-api --help     show this text
  mcp-agent-api --version  show the version

For a service that runs already, at its base URL:
  mcp-agent-api watch URL [--json] [--token-file FILE]
      follow states, rounds and changes of the tools, until Ctrl-C
  mcp-agent-api refresh URL [--toolset NAME] [--dry] [--expect FINGERPRINT] [--timeout SECONDS] [--json] [--token-file FILE]
      list the toolsets now and wait for the outcome; exit code 0 when what they offer is live, else 1, also while one of them fails.
      --dry says what would change; --expect waits until every replica serves that fingerprint, also while the toolset is deployed and fails;
      --timeout is 60 by default
  The token is read from the file, or else from MCP_AGENT_API_ADMIN_TOKEN, MCP_AGENT_API_TOKEN or MCP_AGENT_API_REFRESH_TOKEN;
  refresh reads the last one first.

For one MCP server (or an index, with the toolset's name):
  mcp-agent-api fingerprint URL [--name NAME] [--credential-headers a,b] [--timeout SECONDS] [--json]
      print the fingerprint of its tools, for refresh --expect

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
  const client = CLIENT_COMMANDS.find((name) => name === command);
  if (client !== undefined) return parseClientCommand(client, argv.slice(1));
  if (command !== 'demo') return unknown(command);
  return surplus === undefined ? { kind: 'demo' } : unknown(surplus);
}

/** The version in the package's own package.json. */
export function packageVersion(): string {
  const packageJson: { version: string } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
  return packageJson.version;
}

function unknown(argument: string): Command {
  const hint = argument.startsWith('-') ? 'settings are environment variables' : 'the commands are demo, watch, refresh and fingerprint';
  return { kind: 'error', text: `mcp-agent-api does not know ${JSON.stringify(argument)} (${hint}); see mcp-agent-api --help.` };
}
