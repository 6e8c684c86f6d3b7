import { closestFirst } from '../../src/core/closest-names.js';

test.each([
  ['knowlege-base', 'knowledge-base'],
  ['PLACES', 'places'],
  ['weather2', 'weather'],
  ['', 'web'],
])('of many names, %j is most likely meant for %s', (mistyped, meant) => {
  const names = ['knowledge-base', 'places', 'weather', 'web'];
  expect(closestFirst(names, mistyped)[0]).toBe(meant);
  expect(closestFirst(names, mistyped).sort()).toEqual(names);
});
