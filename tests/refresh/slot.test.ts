import fc from 'fast-check';
import { assembleCatalog } from '../../src/core/catalog.js';
import type { Generation, Lease } from '../../src/core/generation.js';
import { GenerationSlot } from '../../src/refresh/slot.js';

function generation(number: number): Generation<string> {
  return { number, agent: `agent ${number}`, catalog: assembleCatalog([]), fingerprint: '', builtAt: new Date(0) };
}

test('a lease keeps its generation through any number of swaps, and its end releases it', () => {
  const released: number[] = [];
  const slot = new GenerationSlot<string>(({ number }) => released.push(number));
  expect(slot.lease()).toBeUndefined();
  slot.swap(generation(1), new Date(0));
  const lease = slot.lease();
  slot.swap(generation(2), new Date(5));
  slot.swap(generation(3), new Date(6));
  expect(lease?.generation.agent).toBe('agent 1');
  expect(slot.draining()).toEqual([{ generation: 1, runs: 1, since: new Date(5).toISOString() }]);
  expect(released).toEqual([2]);
  lease?.release();
  lease?.release();
  expect(released).toEqual([2, 1]);
  expect(slot.draining()).toEqual([]);
});

test('for any order of swaps, leases and releases: never fewer than zero runs, and each retired generation is released exactly once', () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom('swap', 'lease', 'release', 'release again'), { maxLength: 60 }), (deeds) => {
      const released: number[] = [];
      const slot = new GenerationSlot<string>(({ number }) => released.push(number));
      const leases: Lease<string>[] = [];
      const ended: Lease<string>[] = [];
      let swaps = 0;
      for (const deed of deeds) {
        if (deed === 'swap') slot.swap(generation(++swaps), new Date(0));
        if (deed === 'lease') leases.push(...[slot.lease()].filter((lease) => lease !== undefined));
        if (deed === 'release') {
          const [lease] = leases.splice(0, 1);
          lease?.release();
          if (lease !== undefined) ended.push(lease);
        }
        if (deed === 'release again') ended[0]?.release();
        for (const { runs } of slot.draining()) expect(runs).toBeGreaterThan(0);
        expect(new Set(released).size).toBe(released.length);
      }
      for (const lease of leases) lease.release();
      expect(released.sort((a, b) => a - b)).toEqual(Array.from({ length: Math.max(0, swaps - 1) }, (_, n) => n + 1));
    }),
  );
});
