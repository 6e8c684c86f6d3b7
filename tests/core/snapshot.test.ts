import fc from 'fast-check';
import { assembleCatalog } from '../../src/core/catalog.js';
import { diffCatalogs, diffSnapshots } from '../../src/core/diff.js';
import { isShownToModel, type Snapshot, takeSnapshot } from '../../src/core/snapshot.js';
import { anyJson, anySchema, snapshotOf, toolOf } from '../support/tool-arbitraries.js';

const endpoint = { name: 'kb', url: 'http://127.0.0.1/mcp', credentialHeaders: ['x-token'] };

describe('taking a snapshot', () => {
  it('sorts the tools, keeps the withheld ones apart and freezes the result', () => {
    const list = { tools: [toolOf('b'), toolOf('bad', { inputSchema: null }), toolOf('a')], instructions: 'Be brief.' };
    const snapshot = takeSnapshot({ endpoint, list });
    expect(snapshot).toMatchObject({
      id: 'kb http://127.0.0.1/mcp',
      toolset: 'kb',
      tools: [{ name: 'a' }, { name: 'b' }],
      withheld: [{ tool: 'bad' }],
      instructions: 'Be brief.',
      credentialHeaders: ['x-token'],
    });
    expect([...snapshot.digests.keys()]).toEqual(['a', 'b']);
    expect(Object.isFrozen(snapshot) && Object.isFrozen(snapshot.tools) && Object.isFrozen(snapshot.withheld)).toBe(true);
  });

  it('returns the very same object when the list shows no change, in whatever order (2.6)', () => {
    const previous = takeSnapshot({ endpoint, list: { tools: [toolOf('a'), toolOf('b')], instructions: undefined } });
    const shuffled = { tools: [toolOf('b', { icons: [] }), toolOf('a')], instructions: undefined };
    expect(takeSnapshot({ endpoint, list: shuffled, previous })).toBe(previous);
  });

  it.each<[string, Partial<typeof endpoint>, unknown[], string | undefined]>([
    ['a tool', {}, [toolOf('a'), toolOf('c')], undefined],
    ['a withheld tool', {}, [toolOf('a'), toolOf('b'), toolOf('bad', { inputSchema: null })], undefined],
    ['the instructions', {}, [toolOf('a'), toolOf('b')], 'New.'],
    ['the credential headers', { credentialHeaders: [] }, [toolOf('a'), toolOf('b')], undefined],
    ['the URL', { url: 'http://127.0.0.1/other' }, [toolOf('a'), toolOf('b')], undefined],
  ])('returns another object when %s changed', (_, fields, tools, instructions) => {
    const previous = takeSnapshot({ endpoint, list: { tools: [toolOf('a'), toolOf('b')], instructions: undefined } });
    expect(takeSnapshot({ endpoint: { ...endpoint, ...fields }, list: { tools, instructions }, previous })).not.toBe(previous);
  });

  it('shows a tool again that was withheld for its depth, although the deep part is not hashed to its end', () => {
    const deep = (levels: number): unknown => (levels === 0 ? {} : [deep(levels - 1)]);
    const list = (levels: number) => ({ tools: [toolOf('a', { annotations: deep(levels) })], instructions: undefined });
    const previous = takeSnapshot({ endpoint, list: list(250) });
    expect(previous.tools).toHaveLength(0);
    expect(takeSnapshot({ endpoint, list: list(199), previous }).tools).toHaveLength(1);
  });

  it('gives the same snapshot whatever was held before, and takes over what stayed the same to the letter', () => {
    const tools = fc.uniqueArray(
      fc.record({
        name: fc.constantFrom('a', 'b', 'c'),
        description: fc.constantFrom('One.', 'T\u{200B}wo.'),
        inputSchema: anySchema,
        _meta: anyJson,
      }),
      { selector: ({ name }) => name },
    );
    fc.assert(
      fc.property(tools, tools, (first, second) => {
        const copy = (entries: unknown) => JSON.parse(JSON.stringify(entries)) as unknown[];
        const previous = takeSnapshot({ endpoint, list: { tools: copy(first), instructions: undefined } });
        const mixed = [...first.slice(0, 1), ...second.filter(({ name }) => name !== first[0]?.name)];
        const list = { tools: copy(mixed), instructions: undefined };
        const alone = takeSnapshot({ endpoint, list });
        const after = takeSnapshot({ endpoint, list, previous });
        expect(after).toEqual(after === previous ? { ...alone, tools: previous.tools } : alone);
        const kept = previous.tools.find(({ name }) => name === first[0]?.name);
        if (kept !== undefined) expect(after.tools).toContain(kept);
      }),
    );
  });

  it('compares a list with the one before, however deeply what does not count is nested', () => {
    let deep: unknown = 1;
    for (let level = 0; level < 50_000; level += 1) deep = [deep];
    const list = { tools: [toolOf('a', { icons: deep })], instructions: undefined };
    const previous = takeSnapshot({ endpoint, list });
    expect(previous.tools).toHaveLength(1);
    const copy = { tools: [toolOf('a', { icons: [deep] })], instructions: undefined };
    expect(takeSnapshot({ endpoint, list: copy, previous })).toBe(previous);
  });

  it.each([
    ['no visibility', undefined, true],
    ['both', ['model', 'app'], true],
    ['app', ['app'], false],
    ['an empty list', [], false],
    ['no list', 'app', true],
  ])('shows tools to the model by _meta.ui.visibility: %s (6.4)', (_, visibility, isShown) => {
    expect(isShownToModel(toolOf('a', { _meta: { ui: { visibility } } }))).toBe(isShown);
  });
});

describe('assembling a catalog', () => {
  it('does not depend on the order of the snapshots', () => {
    const snapshots = ['c', 'a', 'b', '__proto__'].map((toolset) => snapshotOf({ toolset, tools: [toolOf('x')] }));
    const catalog = assembleCatalog(snapshots);
    expect(catalog.snapshots.map(({ toolset }) => toolset)).toEqual(['__proto__', 'a', 'b', 'c']);
    fc.assert(
      fc.property(fc.shuffledSubarray(snapshots, { minLength: snapshots.length }), (shuffled) => {
        expect(assembleCatalog(shuffled)).toEqual(catalog);
      }),
    );
  });

  it('refuses two snapshots of one toolset', () => {
    const twice = ['http://a/', 'http://b/'].map((url) => snapshotOf({ url, tools: [] }));
    expect(() => assembleCatalog(twice)).toThrow(RangeError);
  });
});

describe('the difference between two catalogs', () => {
  const kb = snapshotOf({ toolset: 'kb', tools: [toolOf('search'), toolOf('read', { description: 'Old.' })] });

  it('calls everything added when there was nothing', () => {
    expect(diffCatalogs(undefined, assembleCatalog([kb]))).toEqual({ added: ['read', 'search'], removed: [], changed: [] });
  });

  it('names added, removed and changed tools as the model sees them', () => {
    const newer = snapshotOf({ toolset: 'kb', tools: [toolOf('read', { description: 'New.' }), toolOf('write.all')] });
    expect(diffCatalogs(assembleCatalog([kb]), assembleCatalog([newer]))).toEqual({
      added: ['write_all'],
      removed: ['search'],
      changed: ['read'],
    });
  });

  it('shows that a clash renames', () => {
    const web = snapshotOf({ toolset: 'web', tools: [toolOf('search')] });
    expect(diffCatalogs(assembleCatalog([kb]), assembleCatalog([kb, web]))).toEqual({
      added: ['kb__search', 'web__search'],
      removed: ['search'],
      changed: [],
    });
  });

  it('calls a name changed that now belongs to another toolset, but not one whose toolset moved', () => {
    const at = (toolset: string, url: string) => assembleCatalog([snapshotOf({ toolset, url, tools: [toolOf('search')] })]);
    expect(diffCatalogs(at('kb', 'http://a/'), at('web', 'http://a/')).changed).toEqual(['search']);
    expect(diffCatalogs(at('kb', 'http://a/'), at('kb', 'http://b/')).changed).toEqual([]);
  });

  it('is empty for equal catalogs', () => {
    expect(diffCatalogs(assembleCatalog([kb]), assembleCatalog([kb]))).toEqual({ added: [], removed: [], changed: [] });
  });
});

describe('the difference between two snapshots (15.1)', () => {
  const before = snapshotOf({ tools: [toolOf('a'), toolOf('b')], instructions: 'Old.', credentialHeaders: ['x-a'] });
  const newer = (tools: unknown[], more: Partial<Pick<Snapshot, 'instructions' | 'credentialHeaders'>> = {}) =>
    snapshotOf({ tools, instructions: 'Old.', credentialHeaders: ['x-a'], ...more });

  it.each([
    ['text', { description: 'New.' }],
    ['text', { title: 'New' }],
    ['parameters', { inputSchema: { type: 'object', properties: { q: {} } } }],
    ['output', { outputSchema: { type: 'object' } }],
    ['annotations', { annotations: { readOnlyHint: true } }],
    ['view', { _meta: { ui: { resourceUri: 'ui://kb/a' } } }],
  ])('says %s for %j', (name, fields) => {
    expect(diffSnapshots(before, newer([toolOf('a', fields), toolOf('b')]))).toEqual({
      added: [],
      removed: [],
      changed: [{ tool: 'a', classes: [name] }],
      classes: [name],
    });
  });

  it('lists every class once, in a fixed order', () => {
    const changes = diffSnapshots(
      before,
      newer([toolOf('a', { annotations: {}, title: 'A' }), toolOf('c')], { instructions: 'New.', credentialHeaders: [] }),
    );
    expect(changes).toEqual({
      added: ['c'],
      removed: ['b'],
      changed: [{ tool: 'a', classes: ['text', 'annotations'] }],
      classes: ['added', 'text', 'annotations', 'instructions', 'credentials'],
    });
  });

  it('has no class for tools that only went, and for tools that are withheld now', () => {
    expect(diffSnapshots(before, newer([toolOf('a'), toolOf('b', { inputSchema: null })]))).toEqual({
      added: [],
      removed: ['b'],
      changed: [],
      classes: [],
    });
  });

  it('calls everything added when there was nothing', () => {
    expect(diffSnapshots(undefined, before)).toEqual({
      added: ['a', 'b'],
      removed: [],
      changed: [],
      classes: ['added', 'instructions', 'credentials'],
    });
  });
});
