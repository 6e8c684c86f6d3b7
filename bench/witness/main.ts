import { stampOf } from '../fleet/tools.js';
import { machineNow } from '../harness/clock.js';
import { answerCommands, liveWithParent, tellParent } from '../harness/commands.js';

/** A model as a process of its own, which says what each request shows it: the revision of each toolset's first tool, by that tool's name. */

// The servers of tests/support clean up after each jest test; this process ends instead.
Object.assign(globalThis, { beforeEach: () => undefined, afterEach: () => undefined, afterAll: () => undefined });
const { shownTools, startModelServer } = await import('../../tests/support/model-server.js');

answerCommands({
  async start() {
    const model = await startModelServer();
    model.reply((request) => {
      const at = machineNow();
      const tools = shownTools(request);
      const stamped = tools.map(({ name, description }) => [name, stampOf(description)?.revision] as const);
      const revisions = Object.fromEntries(stamped.filter(([, revision]) => revision !== undefined));
      tellParent({ event: 'shown', at, tools: tools.length, revisions });
      // What it was shown has been told; kept requests would fill the memory.
      (model.requests as unknown[]).length = 0;
      return { text: 'ok' };
    });
    return { baseUrl: model.baseUrl };
  },
  told: () => undefined,
});
liveWithParent();
