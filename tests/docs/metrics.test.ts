import { readFileSync } from 'node:fs';

const METRIC = /mcp_agent_[a-z_]+/g;

test('docs/operating.md explains every metric, and no other', () => {
  const inCode = new Set(readFileSync('src/http/metrics.ts', 'utf8').match(METRIC));
  const inPage = new Set(readFileSync('docs/operating.md', 'utf8').match(METRIC));
  expect(inCode.size).toBeGreaterThan(8);
  expect([...inPage].sort()).toEqual([...inCode].sort());
});
