import { hashOfPage, isViewUri, urisOfPath, viewOfTool, viewsOfTools } from '../../src/core/view.js';
import { policyOfView } from '../../src/core/view-policy.js';

const html = (text: string) => Buffer.from(text);

test('the path of a view means the toolset’s own URI first, then one with another authority', () => {
  expect(urisOfPath('kb', 'app/main.html')).toEqual(['ui://kb/app/main.html', 'ui://app/main.html']);
});

test('the views of a list are sorted and named once; tools that name no view are left out', () => {
  const tools = [
    { name: 'b', _meta: { ui: { resourceUri: 'ui://x/2' } } },
    { name: 'a', _meta: { 'ui/resourceUri': 'ui://x/1' } },
    { name: 'c', _meta: { ui: { resourceUri: 'ui://x/2' } } },
    { name: 'd' },
    { name: 'e', _meta: { ui: { resourceUri: false } } },
  ];
  expect(viewsOfTools(tools)).toEqual({ uris: ['ui://x/1', 'ui://x/2'], odd: [{ tool: 'e', reason: 'it is no ui:// URI' }] });
});

test.each(['ui://', 'UI://x', 'ui:/x', 'ui://a b', 'ui://a\u0000', `ui://${'x'.repeat(3_000)}`])('%j can be no view', (uri) => {
  expect(isViewUri(uri)).toBe(false);
  expect(viewOfTool({ _meta: { ui: { resourceUri: uri } } }).kind).toBe('odd');
});

test.each([null, 5, [], { ui: null }, { ui: [] }])('%j in place of metadata names nothing and throws nothing', (meta) => {
  expect(viewOfTool({ _meta: meta }).kind).toBe('none');
});

test('the hash is that of the page alone where it declares nothing, and of both where it declares something', () => {
  const digest = '2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824';
  expect(hashOfPage(html('hello'), undefined)).toBe(`sha256-${digest}`);
  expect(hashOfPage(html('hello'), 'a')).not.toBe(hashOfPage(html('hello'), 'b'));
});

test('a policy without declarations lets a page run its own scripts and reach nothing', () => {
  expect(policyOfView(undefined)).toBe(
    "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; font-src data:; media-src data: blob:; connect-src 'none'; frame-src 'none'; base-uri 'none'; form-action 'none'",
  );
  for (const odd of [null, 5, [], 'x', { connectDomains: null }, { connectDomains: {} }])
    expect(policyOfView(odd)).toBe(policyOfView(undefined));
});

test('an endless list of origins, or an endless origin, is cut off', () => {
  const many = Array.from({ length: 1_000 }, (_, index) => `https://h${index}.example`);
  expect(policyOfView({ connectDomains: many }).length).toBeLessThan(4_000);
  expect(policyOfView({ connectDomains: [`https://${'a.'.repeat(100_000)}b`] })).toBe(policyOfView(undefined));
});
