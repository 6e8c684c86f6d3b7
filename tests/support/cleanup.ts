type Cleanup = () => unknown;

const ofTest: Cleanup[] = [];
const ofFile: Cleanup[] = [];
let insideTest = false;

/**
 * Runs `cleanup` when the test is over; what is registered outside a test (in `beforeAll`) runs when the file is over. The
 * newest runs first. Everything that the helpers in this folder start registers itself here, so that no test leaves a
 * socket, a timer or a process behind.
 */
export function onCleanup(cleanup: Cleanup): void {
  (insideTest ? ofTest : ofFile).push(cleanup);
}

async function runAll(cleanups: Cleanup[]): Promise<void> {
  const errors: unknown[] = [];
  for (let cleanup = cleanups.pop(); cleanup !== undefined; cleanup = cleanups.pop()) {
    try {
      await cleanup();
    } catch (error) {
      // The others still have to run; the errors are thrown together below.
      errors.push(error);
    }
  }
  if (errors.length > 0) throw new AggregateError(errors, 'Cleaning up failed.');
}

beforeEach(() => {
  insideTest = true;
});

afterEach(async () => {
  insideTest = false;
  await runAll(ofTest);
});

afterAll(() => runAll(ofFile));
