import { parseArgs } from 'node:util';

/** The command: `npm run soak -- --minutes 30 --seed 7`. Ends with 1 when anything does not hold. */
const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '30' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    toolsets: { type: 'string', default: '20' },
    main: { type: 'string', default: 'dist/main.js' },
  },
});

// The fakes of tests/support clean up after each jest test; here the whole soak is one test.
const cleanups: (() => unknown)[] = [];
Object.assign(globalThis, {
  beforeEach: () => undefined,
  afterEach: () => undefined,
  afterAll: (run: () => unknown) => cleanups.push(run),
});

const { soak } = await import('./soak.js');
const holds = await soak({
  minutes: Number(values.minutes),
  seed: Number(values.seed),
  toolsets: Number(values.toolsets),
  main: values.main,
});
for (const cleanup of cleanups) await cleanup();
process.exit(holds ? 0 : 1);
