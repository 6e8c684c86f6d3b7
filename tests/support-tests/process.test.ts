import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onCleanup } from '../support/cleanup.js';
import { startService } from '../support/process.js';

async function scriptOf(source: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'mcp-agent-api-'));
  onCleanup(() => rm(folder, { recursive: true }));
  const script = join(folder, 'script.mjs');
  await writeFile(script, source);
  return script;
}

test('a process gets its arguments and no foreign environment, and its lines can be waited for', async () => {
  process.env.FOREIGN_SETTING = 'from the developer';
  onCleanup(() => {
    delete process.env.FOREIGN_SETTING;
  });
  const script = await scriptOf(`
    console.error('to stderr');
    console.log(process.argv[2], process.env.GREETING, process.env.FOREIGN_SETTING);
    setInterval(() => {}, 1000);
    process.on('SIGTERM', () => { process.stdout.write('no line break'); process.exit(7); });
    console.log('ready');
  `);
  const service = startService(['first'], { GREETING: 'hello' }, { script });
  await service.line('ready');
  expect(service.stdout[0]).toBe('first hello undefined');
  expect(await service.line(/^to std/)).toBe('to stderr');
  expect(service.stderr).toEqual(['to stderr']);
  expect(await service.stop()).toBe(7);
  expect(service.lines.at(-1)).toBe('no line break');
  expect(await service.stop()).toBe(7);
});

test('a line that never comes fails with everything that was written', async () => {
  const service = startService([], {}, { script: await scriptOf(`console.log('MCP_URL is missing'); process.exitCode = 1;`) });
  await expect(service.line('listening')).rejects.toThrow('The process ended without a line with listening:\nMCP_URL is missing');
  expect(await service.exited).toBe(1);
});

describe('a process that nobody stops', () => {
  let pid = 0;
  test('is started by a first test', async () => {
    const service = startService([], {}, { script: await scriptOf(`setInterval(() => {}, 1000); console.log('up');`) });
    await service.line('up');
    pid = service.pid;
    expect(pid).toBeGreaterThan(0);
  });
  test('is gone before the next', () => {
    expect(() => process.kill(pid, 0)).toThrow('ESRCH');
  });
});
