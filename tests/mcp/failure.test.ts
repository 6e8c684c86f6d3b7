import { CodedError } from '../../src/core/errors.js';
import { failureOf, failureOfStatus, isSilence, mayHaveRun, retryAfterOf } from '../../src/mcp/failure.js';

const withCode = (code: string) => Object.assign(new Error('x'), { code });
const fetchFailed = (code: string) => new TypeError('fetch failed', { cause: withCode(code) });

describe('isSilence', () => {
  it.each([
    [new CodedError('LIST_TIMEOUT', 'x'), true],
    [failureOf(fetchFailed('UND_ERR_CONNECT_TIMEOUT'), 'kb'), true],
    [failureOf(fetchFailed('EHOSTUNREACH'), 'kb'), true],
    // Whoever refuses or resets a connection is there: streams to the same place were reset too.
    [failureOf(fetchFailed('ECONNREFUSED'), 'kb'), false],
    [failureOf(fetchFailed('ECONNRESET'), 'kb'), false],
    [new CodedError('TOOLSET_SERVER_ERROR', 'x'), false],
  ])('of %s is %s', (failure, silence) => {
    expect(isSilence(failure)).toBe(silence);
  });
});

describe('failureOf', () => {
  it.each([
    ['ENOTFOUND', 'TOOLSET_UNKNOWN_HOST', false],
    ['EAI_AGAIN', 'TOOLSET_UNKNOWN_HOST', false],
    ['CERT_HAS_EXPIRED', 'TOOLSET_CERTIFICATE', false],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', 'TOOLSET_CERTIFICATE', false],
    ['SELF_SIGNED_CERT_IN_CHAIN', 'TOOLSET_CERTIFICATE', false],
    ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'TOOLSET_CERTIFICATE', false],
    ['ERR_TLS_CERT_ALTNAME_INVALID', 'TOOLSET_CERTIFICATE', false],
    ['ECONNREFUSED', 'TOOLSET_UNREACHABLE', false],
    ['UND_ERR_CONNECT_TIMEOUT', 'TOOLSET_UNREACHABLE', false],
    ['ECONNRESET', 'TOOLSET_UNREACHABLE', true],
    ['UND_ERR_SOCKET', 'TOOLSET_UNREACHABLE', true],
  ])('knows %s as %s', (code, expected, run) => {
    const failure = failureOf(new Error('outer', { cause: fetchFailed(code) }), 'kb');
    expect(failure).toMatchObject({ code: expected, toolset: 'kb' });
    expect(mayHaveRun(failure)).toBe(run);
  });

  it('hands on a coded error that is somewhere in the chain of causes', () => {
    const inner = new CodedError('LIST_TOO_LARGE', 'x');
    expect(failureOf(new Error('a', { cause: new Error('b', { cause: inner }) }), 'kb')).toBe(inner);
  });

  it('survives a chain of causes that is a circle, and things that are no errors', () => {
    const error = new Error('x');
    error.cause = error;
    expect(failureOf(error, 'kb').code).toBe('TOOLSET_UNREACHABLE');
    expect(failureOf(null, 'kb').code).toBe('TOOLSET_UNREACHABLE');
    expect(failureOf('text', 'kb').code).toBe('TOOLSET_UNREACHABLE');
  });
});

describe('failureOfStatus', () => {
  const at = (status: number, text = '', hasSession = false) => failureOfStatus({ toolset: 'kb', status, text, hasSession }).code;

  it('takes 404 for a lost session only where there is one', () => {
    expect(at(404, '', true)).toBe('SESSION_LOST');
    expect(at(404, '<html>')).toBe('TOOLSET_REFUSED');
  });

  it('does not look for a session in long pages', () => {
    expect(at(401, `<html>${'x'.repeat(2_000)} your session expired`)).toBe('TOOLSET_UNAUTHORIZED');
    expect(at(401, 'Session not found')).toBe('SESSION_LOST');
  });

  it('never says what was in the body', () => {
    const failure = failureOfStatus({ toolset: 'kb', status: 500, text: 'password=SECRET', hasSession: true });
    expect(`${failure.message} ${String(failure.cause)}`).not.toContain('SECRET');
  });
});

describe('retryAfterOf', () => {
  const now = new Date('2026-01-01T00:00:00Z');

  it.each([
    [null, undefined],
    ['soon', undefined],
    ['0', 0],
    ['120', 120_000],
    ['86400', 3_600_000],
    ['1'.repeat(400), 3_600_000],
    ['Thu, 01 Jan 2026 00:00:30 GMT', 30_000],
    ['Thu, 01 Jan 2026 23:00:00 GMT', 3_600_000],
    ['Wed, 31 Dec 2025 23:00:00 GMT', 0],
  ])('reads %j', (header, expected) => {
    expect(retryAfterOf(header, now)).toBe(expected);
  });
});
