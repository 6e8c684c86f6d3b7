import { readFileSync } from 'node:fs';
import { parseArguments } from '../../src/cli.js';

test('no argument serves, demo serves the demo', () => {
  expect(parseArguments([])).toEqual({ kind: 'serve' });
  expect(parseArguments(['demo'])).toEqual({ kind: 'demo' });
});

test.each(['--help', '-h'])('%s explains the commands and the two settings that are needed', (flag) => {
  const command = parseArguments(['demo', flag]);
  expect(command).toMatchObject({ kind: 'help', text: expect.stringContaining('mcp-agent-api demo') });
  expect(command).toMatchObject({ text: expect.stringMatching(/MCP_URL[\s\S]*PROVIDER_MODEL/) });
});

test.each(['--version', '-v'])('%s is the version of package.json', (flag) => {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
  expect(parseArguments([flag])).toEqual({ kind: 'version', text: version });
});

test.each([[['serve']], [['demo', 'more']], [['--port=1']], [['']]])('%j is an error in one line that points to --help', (argv) => {
  const command = parseArguments(argv);
  expect(command).toMatchObject({ kind: 'error', text: expect.stringContaining('--help') });
  expect(command).toMatchObject({ text: expect.not.stringContaining('\n') });
});
