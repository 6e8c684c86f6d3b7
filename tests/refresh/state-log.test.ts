import { CodedError } from '../../src/core/errors.js';
import { logState } from '../../src/refresh/status-report.js';

test('the line about a failing toolset says where it is, and leaves out the path and the query, which may carry a key', () => {
  const entries: unknown[] = [];
  const write = (message: string, fields?: object) => void entries.push({ message, ...fields });
  const logger = { debug: write, info: write, warn: write, error: write };
  const error = new CodedError('TOOLSET_UNREACHABLE', 'The connection failed (ECONNREFUSED).', { toolset: 'kb' });
  const change = { toolset: 'kb', from: 'watching', to: 'failing', error } as const;
  logState(logger, { ...change, url: 'https://kb.example:8443/secret/mcp?key=secret' });
  // An entry of the index that cannot be used may have no URL at all.
  logState(logger, { ...change, url: '' });
  expect(entries).toEqual([
    expect.objectContaining({ message: 'toolset failing', code: 'TOOLSET_UNREACHABLE', origin: 'https://kb.example:8443' }),
    expect.not.objectContaining({ origin: expect.anything() }),
  ]);
  expect(JSON.stringify(entries)).not.toContain('secret');
});
