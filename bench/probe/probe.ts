import { writeFile } from 'node:fs/promises';
import { Session } from 'node:inspector/promises';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { answerCommands } from '../harness/commands.js';

/**
 * Loaded with `--import` into each process that is measured, ours and the peers' alike. It costs nothing until it is asked:
 * it answers with the heap after a collection, the CPU time, the event loop's delay, and a CPU profile.
 */
let loop = monitorEventLoopDelay({ resolution: 1 });
let profiler: Session | undefined;

answerCommands({
  'probe.memory': () => {
    // Two collections: what the first one finalizes is freed by the second.
    global.gc?.();
    global.gc?.();
    const { heapUsed, rss, external } = process.memoryUsage();
    return { heap: heapUsed, rss, external };
  },
  'probe.cpu': () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1_000;
  },
  'probe.resources': () => {
    const counts: Record<string, number> = {};
    for (const name of process.getActiveResourcesInfo()) counts[name] = (counts[name] ?? 0) + 1;
    return counts;
  },
  'probe.watchLoop': () => {
    loop.disable();
    loop = monitorEventLoopDelay({ resolution: 1 });
    loop.enable();
  },
  'probe.loopDelay': () => {
    const delay = { p50: loop.percentile(50) / 1e6, p99: loop.percentile(99) / 1e6, max: loop.max / 1e6 };
    loop.disable();
    return delay;
  },
  'probe.startProfile': async () => {
    profiler = new Session();
    profiler.connect();
    await profiler.post('Profiler.enable');
    await profiler.post('Profiler.setSamplingInterval', { interval: 200 });
    await profiler.post('Profiler.start');
  },
  'probe.stopProfile': async ({ file }: { file: string }) => {
    if (profiler === undefined) return;
    const { profile } = await profiler.post('Profiler.stop');
    profiler.disconnect();
    profiler = undefined;
    await writeFile(file, JSON.stringify(profile));
  },
});

// The channel alone does not keep the process alive.
process.channel?.unref();
