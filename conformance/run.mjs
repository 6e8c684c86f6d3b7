// Runs every client scenario of the official suite that applies to the session layer, and fails when one of them does.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const HERE = fileURLToPath(new URL('.', import.meta.url));
/** docs/field-cases.md says why the others do not apply. */
const SCENARIOS = ['initialize', 'tools_call', 'sse-retry'];

if (!existsSync(join(HERE, '..', 'dist', 'main.js'))) {
  process.stderr.write('Build the package first: npm run build\n');
  process.exit(2);
}
// The suite needs a newer Node than the product, which the npm package `node` brings.
const node = join(HERE, 'node_modules', 'node', 'bin', 'node');
const suite = join(HERE, 'node_modules', '@modelcontextprotocol', 'conformance', 'dist', 'index.js');
const results = mkdtempSync(join(tmpdir(), 'mcp-conformance-'));
const failed = SCENARIOS.filter((scenario) => {
  const command = `"${process.execPath}" "${join(HERE, 'client.mjs')}"`;
  const { status } = spawnSync(node, [suite, 'client', '--command', command, '--scenario', scenario, '-o', results], { stdio: 'inherit' });
  return status !== 0;
});
process.stdout.write(failed.length === 0 ? `All ${SCENARIOS.length} scenarios passed.\n` : `Failed: ${failed.join(', ')}\n`);
process.exit(failed.length === 0 ? 0 : 1);
