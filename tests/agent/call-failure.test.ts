import { explainCallFailure } from '../../src/agent/call-failure.js';
import { CodedError, ERROR_CODES, type ErrorCode } from '../../src/core/errors.js';
import { RefusedCall, withoutCredentials } from '../../src/core/refused-call.js';

const explain = (error: unknown) => explainCallFailure(error, { tool: 'search', toolSeconds: 60 });

test.each([
  ['TOOL_GONE', /no longer available/],
  ['CALL_TIMEOUT', /within 60 seconds/],
  ['CALL_OUTCOME_UNKNOWN', /may or may not have run/],
  ['TOOLSET_UNAUTHORIZED', /credentials/],
] as const)('%s is explained to the model', (code, expected) => {
  expect(explain(new CodedError(code, 'internal'))).toMatch(expected);
});

test('what a toolset said to its caller is handed on, and an empty text is replaced', () => {
  const refused = (said: string) => new RefusedCall(said, { toolset: 'kb', tool: 'search', rpcCode: -32602, cause: undefined });
  expect(explain(refused('q is required'))).toBe('Error: The toolset refused the call of the tool "search": q is required');
  expect(explain(refused(' '))).toMatch(/arguments do not fit/);
});

test.each([
  ['Bearer abc.def', 'token abc.def is expired', 'token [removed] is expired'],
  ['Bearer abc.def', 'got "Bearer abc.def"', 'got "[removed]"'],
  ['', 'q is required', 'q is required'],
  ['re', 'q is required', 'q is required'],
])('a credential in the header %j is removed from %j', (value, text, expected) => {
  expect(withoutCredentials(text, [value])).toBe(expected);
});

test('whatever the code, the model reads which tool failed and nothing of the error itself', () => {
  const errors = (Object.keys(ERROR_CODES) as ErrorCode[]).map((code) => new CodedError(code, 'token abc', { cause: new Error('body') }));
  for (const error of [...errors, new TypeError('token abc'), 'token abc']) {
    expect(explain(error)).toMatch(/^Error: .*"search"/);
    expect(explain(error)).not.toMatch(/token abc|body/);
  }
});
