import { parseArguments } from '../../src/cli.js';

const FINGERPRINT = `sha256-${'0a'.repeat(32)}`;

test('a URL is all that a command needs', () => {
  const url = 'http://127.0.0.1:8000/';
  expect(parseArguments(['watch', 'http://127.0.0.1:8000'])).toEqual({ kind: 'watch', url, json: false });
  expect(parseArguments(['refresh', url])).toEqual({ kind: 'refresh', url, dry: false, json: false, timeoutSeconds: 60 });
  expect(parseArguments(['fingerprint', url])).toEqual({ kind: 'fingerprint', url, json: false, timeoutSeconds: 30 });
});

test('every option is read, before and after the URL', () => {
  const url = 'https://api.example.com/agent';
  const refresh = [
    'refresh',
    '--toolset',
    'kb',
    url,
    '--dry',
    `--expect=${FINGERPRINT}`,
    '--timeout',
    '1.5',
    '--json',
    '--token-file',
    'a',
  ];
  expect(parseArguments(refresh)).toEqual({
    ...{ kind: 'refresh', url, toolset: 'kb', dry: true, expect: FINGERPRINT, timeoutSeconds: 1.5, json: true, tokenFile: 'a' },
  });
  expect(parseArguments(['watch', '--json', '--token-file=a', url])).toEqual({ kind: 'watch', url, json: true, tokenFile: 'a' });
  const fingerprint = ['fingerprint', url, '--name', 'kb', '--credential-headers', 'x-a,x-b', '--timeout=5', '--json'];
  expect(parseArguments(fingerprint)).toEqual({
    ...{ kind: 'fingerprint', url, name: 'kb', credentialHeaders: ['x-a', 'x-b'], timeoutSeconds: 5, json: true },
  });
  // "None" is something else than "what the server declares".
  expect(parseArguments(['fingerprint', url, '--credential-headers='])).toMatchObject({ credentialHeaders: [] });
});

const URL_GIVEN = 'http://127.0.0.1:8000';

test.each([
  [['watch']],
  [['watch', '127.0.0.1:8000']],
  [['watch', 'file:///etc/passwd']],
  [['watch', 'http://user:secret@127.0.0.1']],
  [['watch', URL_GIVEN, URL_GIVEN]],
  [['watch', URL_GIVEN, '--dry']],
  [['refresh', URL_GIVEN, '--toolset']],
  [['refresh', URL_GIVEN, '--toolset=']],
  [['refresh', URL_GIVEN, '--expect', 'sha256-1']],
  [['refresh', URL_GIVEN, '--timeout', '0']],
  [['refresh', URL_GIVEN, '--timeout', '30s']],
  [['refresh', URL_GIVEN, '--timeout', '1e9']],
  [['refresh', URL_GIVEN, '--token', 'secret']],
  [['fingerprint', URL_GIVEN, '--json=yes']],
])('%j is an error in one line that names the command and points to --help', (argv) => {
  const command = parseArguments(argv);
  expect(command).toMatchObject({ kind: 'error', text: expect.stringMatching(new RegExp(`^mcp-agent-api ${argv[0]}: .+--help\\.$`)) });
  expect(command).toMatchObject({ text: expect.not.stringMatching(/\n|secret/) });
});

test('--help explains every option of every command', () => {
  const help = parseArguments(['--help']);
  for (const word of [
    'watch URL',
    'refresh URL',
    'fingerprint URL',
    '--toolset',
    '--dry',
    '--expect',
    '--timeout',
    '--token-file',
    '--name',
  ])
    expect(help).toMatchObject({ text: expect.stringContaining(word) });
});
