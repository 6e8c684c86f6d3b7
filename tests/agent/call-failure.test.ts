import { explainCallFailure } from '../../src/agent/call-failure.js';
import { CodedError, ERROR_CODES, type ErrorCode } from '../../src/core/errors.js';

const explain = (error: unknown) => explainCallFailure(error, { tool: 'search', toolSeconds: 60 });

test.each([
  ['TOOL_GONE', /no longer available/],
  ['CALL_TIMEOUT', /within 60 seconds/],
  ['CALL_OUTCOME_UNKNOWN', /may or may not have run/],
  ['TOOLSET_UNAUTHORIZED', /credentials/],
] as const)('%s is explained to the model', (code, expected) => {
  expect(explain(new CodedError(code, 'internal'))).toMatch(expected);
});

test('whatever the code, the model reads which tool failed and nothing of the error itself', () => {
  const errors = (Object.keys(ERROR_CODES) as ErrorCode[]).map((code) => new CodedError(code, 'token abc', { cause: new Error('body') }));
  for (const error of [...errors, new TypeError('token abc'), 'token abc']) {
    expect(explain(error)).toMatch(/^Error: .*"search"/);
    expect(explain(error)).not.toMatch(/token abc|body/);
  }
});
