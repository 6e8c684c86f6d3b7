import { type Contestant, type StartOptions, servedAt } from '../harness/contestant.js';
import type { Fleet } from '../harness/fleet.js';

/** How long after each of some changes the next run would see it, in milliseconds: one toolset at a time, each announced. */
export async function changeToServed(contestant: Contestant, fleet: Fleet, options: StartOptions & { samples: number }): Promise<number[]> {
  const running = await contestant.start(fleet, options);
  const times: number[] = [];
  for (let sample = 0; sample < options.samples; sample++) {
    const name = `t${sample % fleet.toolsets.length}`;
    const seen = new Map<number, number>();
    const stop = running.onServed(({ toolset, revision, at }) => {
      if (toolset === name) seen.set(revision, at);
    });
    const [change] = await fleet.change([name]);
    if (change === undefined) throw new Error(`${name} was not changed.`);
    const at = seen.get(change.revision) ?? (await servedAt(running, { toolset: name, revision: change.revision }));
    stop();
    times.push(at - change.changedAt);
  }
  await running.stop();
  return times;
}
