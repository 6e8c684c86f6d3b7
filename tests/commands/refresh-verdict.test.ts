import { type Round, statusSchema } from '../../src/commands/answers.js';
import { judgeRound, whoWaits } from '../../src/commands/refresh-verdict.js';

function round(outcome: string, toolsets: Partial<Round['toolsets']> = {}): Round {
  return {
    ...{ round: 1, outcome, trigger: 'manual', durationMs: 1, generation: 1, error: null },
    toolsets: { listed: [], swapped: [], held: [], late: [], failing: [], ...toolsets },
    changes: { added: [], removed: [], changed: [] },
  };
}

test.each([
  ['swapped', {}, undefined, { kind: 'good' }],
  ['unchanged', {}, undefined, { kind: 'good' }],
  ['unchanged', { listed: ['kb'] }, 'kb', { kind: 'good' }],
  ['unchanged', { listed: ['web'] }, 'kb', { kind: 'ask-again', reason: expect.any(String) }],
  ['aborted', { failing: ['kb'] }, undefined, { kind: 'bad', why: 'failing' }],
  ['rejected', {}, undefined, { kind: 'bad', why: 'rejected' }],
  ['held', { held: ['kb'] }, undefined, { kind: 'bad', why: 'held' }],
  ['unchanged', { late: ['kb'] }, undefined, { kind: 'bad', why: 'late' }],
  // What failed before the round and still does is not live either.
  ['unchanged', { listed: ['kb'], failing: ['web'] }, undefined, { kind: 'bad', why: 'failing' }],
  ['swapped', { swapped: ['kb'], failing: ['web'] }, undefined, { kind: 'bad', why: 'failing' }],
  // A toolset was named, and the round tells of it among others.
  ['aborted', { failing: ['kb', 'web'] }, 'kb', { kind: 'bad', why: 'failing' }],
  ['aborted', { failing: ['web'] }, 'kb', { kind: 'ask-again', reason: expect.any(String) }],
  ['swapped', { swapped: ['web'], held: ['kb'] }, 'kb', { kind: 'bad', why: 'held' }],
  ['swapped', { swapped: ['web'], late: ['kb'] }, 'kb', { kind: 'bad', why: 'late' }],
  ['swapped', { swapped: ['web'], failing: ['kb'] }, 'kb', { kind: 'bad', why: 'failing' }],
  ['swapped', { swapped: ['kb'], held: ['web'], late: ['slow'], failing: ['down'] }, 'kb', { kind: 'good' }],
  ['held', { listed: ['kb', 'web'], held: ['web'] }, 'kb', { kind: 'good' }],
] as const)('a round that was %s with %j is judged for %s as %j', (outcome, toolsets, toolset, verdict) => {
  const copy = Object.fromEntries(Object.entries(toolsets).map(([key, names]) => [key, [...names]]));
  expect(judgeRound(round(outcome, copy), toolset)).toEqual(verdict);
});

const NEW = `sha256-${'1'.repeat(64)}`;
const OLD = `sha256-${'2'.repeat(64)}`;

function status(kb: string | null, replicas: Readonly<Record<string, string>> = {}) {
  const toolset = { state: 'watching', protocol: null, tools: 1, error: null };
  return statusSchema.parse({
    ...{ instance: 'pod-1', generation: 2, fingerprint: 'sha256-all-new' },
    replicas: Object.entries(replicas).map(([instance, fingerprint]) => ({ instance, generation: 1, fingerprint })),
    toolsets: [
      { ...toolset, name: 'kb', fingerprint: kb },
      { ...toolset, name: 'web', fingerprint: OLD },
    ],
  });
}

test('a fingerprint is served once the answering replica has it and all others agree with that one', () => {
  const asked = { toolset: 'kb', expect: NEW };
  expect(whoWaits(status(NEW), asked)).toBeUndefined();
  expect(whoWaits(status(NEW), { toolset: undefined, expect: NEW })).toBeUndefined();
  expect(whoWaits(status(NEW, { 'pod-1': 'sha256-all-new', 'pod-2': 'sha256-all-new' }), asked)).toBeUndefined();
  expect(whoWaits(status(OLD), asked)).toContain(OLD);
  expect(whoWaits(status(null), asked)).toContain('no tools yet');
  expect(whoWaits(status(NEW), { toolset: 'web', expect: NEW })).toContain('pod-1 serves');
  expect(whoWaits(status(NEW, { 'pod-1': 'sha256-all-new', 'pod-2': 'sha256-all-old' }), asked)).toMatch(/^pod-2 of 2 replicas/);
});
