import { fallbackVariable } from '../../src/core/fallback-credential.js';

test.each([
  ['x-demo-token', 'X_DEMO_TOKEN'],
  ['authorization', 'AUTHORIZATION'],
  ['notion-token', 'NOTION_TOKEN'],
])('%s falls back to %s', (header, variable) => {
  expect(fallbackVariable(header)).toBe(variable);
});

test.each([
  'provider-api-key',
  'openai-api-key',
  'mcp-agent-api-admin-token',
  'aws-secret-access-key',
  'pgpassword',
  'database-url',
  'path',
])('no toolset can ask for the environment variable behind %s', (header) => {
  expect(fallbackVariable(header)).toBeUndefined();
});
