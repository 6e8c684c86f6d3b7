// The client under test: it speaks to the suite's server through the session layer of this package, as the service does.
import { openSession } from '../dist/mcp/session.js';
import { systemClock } from '../dist/system-clock.js';

const url = process.argv[2] ?? '';
const scenario = process.env.MCP_CONFORMANCE_SCENARIO ?? '';
const log =
  (level) =>
  (message, fields = {}) =>
    process.stderr.write(`${level} ${message} ${JSON.stringify(fields)}\n`);

const session = openSession({
  endpoint: { name: 'conformance', url, headers: {}, credentialHeaders: [] },
  clock: systemClock,
  events: { signal: (kind) => log('signal')(kind), status: (status) => log('status')(status.push), viewsChanged: () => undefined },
  logger: { debug: log('debug'), info: log('info'), warn: log('warn'), error: log('error') },
  env: process.env,
  heartbeatSeconds: 0,
  clientInfo: { name: 'mcp-agent-api', version: '0.1.0' },
});

/** Arguments that a tool's input schema asks for, as a model would give them. */
function argumentsFor(tool) {
  const values = { number: 2, integer: 2, string: 'text', boolean: true, array: [], object: {} };
  return Object.fromEntries(Object.entries(tool.inputSchema?.properties ?? {}).map(([name, { type }]) => [name, values[type] ?? 'text']));
}

try {
  const signal = AbortSignal.timeout(15_000);
  await session.connect(signal);
  const { tools } = await session.list(signal);
  if (scenario !== 'initialize') {
    for (const tool of tools) {
      const result = await session.call({ tool: tool.name, args: argumentsFor(tool), timeoutMs: 15_000 });
      log('result')(tool.name, result);
    }
  }
} catch (error) {
  log('failed')(error.code ?? 'unknown', { message: error.message });
  process.exitCode = 1;
} finally {
  await session.close();
}
