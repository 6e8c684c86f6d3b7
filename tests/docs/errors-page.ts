import { ERROR_CODES } from '../../src/core/errors.js';
import { PROBLEM_CODES, RUN_ERROR_CODES } from '../../src/http/error-codes.js';

const BEGINNING = `# Error codes

Written by \`npm run docs:errors\` from \`src/core/errors.ts\` and \`src/http/error-codes.ts\`; change the texts there.

Every error between this service and a toolset, the index or the agent build has one of these codes. They are in the field \`code\` of log lines, in \`error.code\` at
\`GET /refresh\`, and in the errors that the library throws (\`CodedError\`).

*Asked again* says how patiently a failing toolset or index is tried again, for ever and with jitter:

- **soon**: every 0.5 to 1 s for 2 minutes, then at intervals that double up to 60 s. Nothing answered, or the server said 5xx; it may be back any moment.
- **later**: after 2 s, then at intervals that double up to 60 s. The answer was wrong; somebody has to mend something.
- **rarely**: every 60 s. The toolset refused the service.

Whatever the code, the tools that the agent has stay in use.
`;

const ANSWERS = `## Codes in HTTP answers

Errors of the HTTP API are \`{"detail": …, "code": …}\`.
`;

const VIEWS =
  '`GET /views/{toolset}/{view}` answers 502 when a toolset does not give a view that was never read before; its `code` is then one of the first table.\n';

/** The text of docs/errors.md. */
export function errorsPage(): string {
  const codes = Object.entries(ERROR_CODES).map(([code, { patience, text, remedy }]) => [`\`${code}\``, patience, text, remedy]);
  const problems = Object.entries(PROBLEM_CODES).map(([code, { status, when }]) => [`\`${code}\``, String(status), when]);
  const ends = Object.entries(RUN_ERROR_CODES).map(([code, when]) => [`\`${code}\``, when]);
  return [
    BEGINNING,
    table(['code', 'asked again', 'what it means', 'what to do'], codes),
    ANSWERS,
    table(['code', 'status', 'when'], problems),
    VIEWS,
    '## Codes in `RUN_ERROR`\n',
    table(['code', 'when'], ends),
  ].join('\n');
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [head, head.map(() => '---'), ...rows];
  return `${lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n')}\n`;
}
