import fc from 'fast-check';
import { assembleCatalog } from '../../src/core/catalog.js';
import { diffCatalogs } from '../../src/core/diff.js';
import { snapshotOf, toolOf } from '../support/tool-arbitraries.js';

/** A walk without bounds would take hours; a bounded one takes a tenth of this on a busy machine. */
const BOUND_MS = 2_000;

type Toolsets = Readonly<Record<string, readonly string[]>>;

function catalogOf(toolsets: Toolsets) {
  const entries = Object.entries(toolsets);
  return assembleCatalog(entries.map(([toolset, names]) => snapshotOf({ toolset, tools: names.map((name) => toolOf(name)) })));
}

/** The shown name of each tool, by toolset and own name. */
function namesOf(toolsets: Toolsets): Map<string, string> {
  return new Map(catalogOf(toolsets).names.tools.map(({ toolset, original, name }) => [JSON.stringify([toolset, original]), name]));
}

function nameOf(toolsets: Toolsets, toolset: string, tool: string): string | undefined {
  return namesOf(toolsets).get(JSON.stringify([toolset, tool]));
}

describe('naming tools (6.1)', () => {
  it('keeps legal names that are unique, and sorts by toolset, then name (5.4)', () => {
    const named = catalogOf({ web: ['fetch', 'Browse'], kb: ['search'] }).names.tools;
    expect(named.map(({ toolset, name }) => [toolset, name])).toEqual([
      ['kb', 'search'],
      ['web', 'Browse'],
      ['web', 'fetch'],
    ]);
    expect(named[0]).toMatchObject({ original: 'search', snapshotId: 'kb http://127.0.0.1/mcp', tool: { name: 'search' } });
    expect(named[0]?.digest).toMatch(/^sha256-/);
  });

  it('puts the toolset before each of the clashing names', () => {
    const toolsets = { a: ['run', 'x'], b: ['run'], c: ['run'] };
    expect([...namesOf(toolsets).values()]).toEqual(['a__run', 'x', 'b__run', 'c__run']);
  });

  it.each([
    ['admin.tools.list', 'admin_tools_list'],
    ['user/update', 'user_update'],
    ['工具', '__'],
    ['a b', 'a_b'],
    ['se\u{200B}arch', 'se_arch'],
    ['__proto__', '__proto__'],
    ['constructor', 'constructor'],
    ['x'.repeat(64), 'x'.repeat(64)],
  ])('shows %s alone as %s', (original, shown) => {
    expect(nameOf({ kb: [original] }, 'kb', original)).toBe(shown);
  });

  it('cuts overlong names with a hash of the full name, so that a sibling renames nothing', () => {
    const [one, other] = [`${'x'.repeat(200)}1`, `${'x'.repeat(200)}2`];
    const alone = nameOf({ kb: [one] }, 'kb', one);
    expect(alone).toMatch(/^x{55}_[0-9a-f]{8}$/);
    expect(nameOf({ kb: [one, other], web: [one] }, 'kb', one)).toBe(alone);
  });

  it('tells a.b, a_b and "a b" of one toolset apart: the legal one keeps its name', () => {
    const toolsets = { kb: ['a.b', 'a_b', 'a b'] };
    expect(nameOf(toolsets, 'kb', 'a_b')).toBe('a_b');
    expect(nameOf(toolsets, 'kb', 'a.b')).toMatch(/^kb__a_b_[0-9a-f]{8}$/);
    expect(nameOf(toolsets, 'kb', 'a b')).toMatch(/^kb__a_b_[0-9a-f]{8}$/);
    expect(new Set(namesOf(toolsets).values()).size).toBe(3);
  });

  it('gives a mangled name its toolset when another toolset has the name to the letter', () => {
    const toolsets = { kb: ['a.b'], web: ['a_b'] };
    expect([...namesOf(toolsets).values()]).toEqual(['kb__a_b', 'a_b']);
  });

  it('leaves a tool that is literally called x__y alone, and names tool y of toolset x otherwise', () => {
    const toolsets = { x: ['y'], z: ['y', 'x__y'] };
    expect(nameOf(toolsets, 'z', 'x__y')).toBe('x__y');
    expect(nameOf(toolsets, 'z', 'y')).toBe('z__y');
    expect(nameOf(toolsets, 'x', 'y')).toMatch(/^x__y_[0-9a-f]{8}$/);
  });

  it('tells toolsets and tools apart whose full names are the same', () => {
    const names = [...namesOf({ a: ['b__c', 'c'], a__b: ['c', 'b__c'] }).values()];
    expect(new Set(names).size).toBe(4);
  });

  it('finds a free name when tools are called like the hashed names of another', () => {
    const target = 'a.b';
    const taken: string[] = ['a_b', 'a b'];
    const seen = new Set<string>();
    for (let round = 0; round < 5; round += 1) {
      const shown = nameOf({ kb: [target, ...taken] }, 'kb', target) as string;
      expect(seen.has(shown)).toBe(false);
      expect(shown).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
      seen.add(shown);
      // Somebody now claims that very name; it is taken to the letter, and the target has to move on.
      taken.push(shown);
      expect(nameOf({ kb: [target, ...taken] }, 'kb', shown)).toBe(shown);
    }
  });

  it('does not name tools that only a view may call (6.4)', () => {
    const tools = [
      toolOf('shown'),
      toolOf('hidden', { _meta: { ui: { visibility: ['app'] } } }),
      toolOf('both', { _meta: { ui: { visibility: ['model', 'app'] } } }),
    ];
    const named = assembleCatalog([snapshotOf({ tools })]).names.tools;
    expect(named.map(({ name }) => name)).toEqual(['both', 'shown']);
  });

  it('names 5000 tools in bounded time when all of them clash', () => {
    const names = Array.from({ length: 2_500 }, (_, index) => `tool.${index}`);
    const startedAt = performance.now();
    expect(new Set(namesOf({ a: names, b: names }).values()).size).toBe(5_000);
    expect(performance.now() - startedAt).toBeLessThan(BOUND_MS);
  });

  const toolsetName = fc.constantFrom('a', 'b', 'a__b', 'a b', 'ä', 'x'.repeat(70));
  const toolName = fc.oneof(
    fc.constantFrom(
      'b',
      'c',
      'a.b',
      'a_b',
      'a b',
      'a__b',
      'b__c',
      'a__b__c',
      'a__c',
      '__proto__',
      'x'.repeat(64),
      'x'.repeat(65),
      `${'x'.repeat(65)}y`,
      '工具',
      '__',
    ),
    fc.string({ minLength: 1, maxLength: 3 }),
  );
  const toolsetsArbitrary = fc.dictionary(toolsetName, fc.uniqueArray(toolName, { maxLength: 5 }), { maxKeys: 4, noNullPrototype: true });

  it('gives each tool a legal name of its own', () => {
    fc.assert(
      fc.property(toolsetsArbitrary, (toolsets) => {
        const names = [...namesOf(toolsets).values()];
        expect(names).toHaveLength(Object.values(toolsets).flat().length);
        expect(new Set(names).size).toBe(names.length);
        for (const name of names) expect(name).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
      }),
      { numRuns: 500 },
    );
  });

  it('does not depend on the order of tools and toolsets', () => {
    fc.assert(
      fc.property(toolsetsArbitrary, (toolsets) => {
        const reversed = Object.fromEntries(
          Object.entries(toolsets)
            .toReversed()
            .map(([name, tools]) => [name, tools.toReversed()]),
        );
        expect(catalogOf(reversed).names.tools).toEqual(catalogOf(toolsets).names.tools);
      }),
    );
  });

  it('gives the same names and the same differences, whatever catalog came before', () => {
    fc.assert(
      fc.property(toolsetsArbitrary, toolsetsArbitrary, (first, second) => {
        const before = catalogOf(first);
        // A toolset that has the same tools in both keeps its snapshot, as it does between two rounds.
        const known = new Map(before.snapshots.map((snapshot) => [`${snapshot.id} ${snapshot.fingerprint}`, snapshot]));
        const alone = catalogOf(second);
        const snapshots = alone.snapshots.map((snapshot) => known.get(`${snapshot.id} ${snapshot.fingerprint}`) ?? snapshot);
        const after = assembleCatalog(snapshots, before);
        expect(after).toEqual(alone);
        expect(diffCatalogs(before, after)).toEqual(diffCatalogs(before, alone));
        expect(assembleCatalog(after.snapshots, after).names.groups.every((group, index) => group === after.names.groups[index])).toBe(
          true,
        );
      }),
      { numRuns: 500 },
    );
  });

  it('takes over the groups of toolsets that did not change and whose tools keep their names', () => {
    const [a, b, c] = ['a', 'b', 'c'].map((toolset) => snapshotOf({ toolset, tools: [toolOf(`${toolset}_run`), toolOf('list')] }));
    if (a === undefined || b === undefined || c === undefined) throw new Error('Three snapshots were made.');
    const before = assembleCatalog([a, b, c]);
    const after = assembleCatalog([a, snapshotOf({ toolset: 'b', tools: [toolOf('b_run')] }), c], before);
    expect(after.names.groups[0]).toBe(before.names.groups[0]);
    expect(after.names.groups[2]).toBe(before.names.groups[2]);
    const unique = assembleCatalog([a], after);
    expect(unique.names.tools.map(({ name }) => name)).toEqual(['a_run', 'list']);
    expect(unique.names.tools[0]).toBe(before.names.groups[0]?.find(({ name }) => name === 'a_run'));
  });

  it('renames nothing when a tool goes that shares no possible name with it', () => {
    const possible = (toolset: string, tool: string) => {
      const clean = (text: string) => text.replace(/[^A-Za-z0-9_-]/gu, '_').slice(0, 55);
      return new Set([clean(tool), clean(`${toolset}__${tool}`)]);
    };
    fc.assert(
      fc.property(toolsetsArbitrary, fc.nat(), (toolsets, pick) => {
        const all = Object.entries(toolsets).flatMap(([toolset, tools]) => tools.map((tool) => [toolset, tool] as const));
        const gone = all[pick % Math.max(all.length, 1)];
        if (gone === undefined) return;
        const before = namesOf(toolsets);
        const after = namesOf({ ...toolsets, [gone[0]]: toolsets[gone[0]]?.filter((tool) => tool !== gone[1]) ?? [] });
        for (const [toolset, tool] of all) {
          const id = JSON.stringify([toolset, tool]);
          if (after.has(id) && isApart(possible(toolset, tool), possible(...gone))) expect(after.get(id)).toBe(before.get(id));
        }
      }),
      { numRuns: 500 },
    );
  });
});

function isApart(one: ReadonlySet<string>, other: ReadonlySet<string>): boolean {
  return [...one].every((item) => !other.has(item));
}
