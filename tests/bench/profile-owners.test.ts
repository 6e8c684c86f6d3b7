import { type CpuProfile, NODE, sharesOf } from '../../bench/profile/owners.js';
import { PROBE, runOwner } from '../../bench/profile/run-owners.js';

const frame = (functionName: string, url: string) => ({ functionName, url });

const profile: CpuProfile = {
  nodes: [
    { id: 1, callFrame: frame('(root)', ''), children: [2, 4, 5, 7] },
    { id: 2, callFrame: frame('send', 'file:///app/dist/http/runs.js'), children: [3] },
    { id: 3, callFrame: frame('writev', ''), children: [] },
    { id: 4, callFrame: frame('(idle)', '') },
    { id: 5, callFrame: frame('processTimers', 'node:internal/timers'), children: [6] },
    { id: 6, callFrame: frame('tick', 'file:///app/node_modules/a/node_modules/@langchain/langgraph/dist/pregel/loop.js') },
    { id: 7, callFrame: frame('post', 'file:///app/bench/dist/bench/probe/probe.js') },
  ],
  samples: [2, 3, 4, 5, 6, 7],
  timeDeltas: [100, 100, 5_000, 200, 600, 700],
};

test('Node’s own functions count for their caller, idle time and the probe for nobody', () => {
  const shares = new Map(sharesOf(profile, runOwner, new Set([PROBE])));
  expect(shares.get('LangGraph')).toBeCloseTo(0.6);
  expect(shares.get(NODE)).toBeCloseTo(0.2);
  expect([...shares.keys()].filter((owner) => owner.startsWith('route and stream'))).toHaveLength(1);
  expect([...shares.values()].reduce((sum, share) => sum + share, 0)).toBeCloseTo(1);
});

test('the greatest share comes first', () => {
  expect(sharesOf(profile, runOwner, new Set([PROBE]))[0]?.[0]).toBe('LangGraph');
});
