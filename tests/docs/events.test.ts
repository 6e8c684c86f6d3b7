import { readFileSync } from 'node:fs';
import { FEED_EVENTS, feedEventSchema } from '../../src/http/event-schemas.js';

const page = readFileSync('docs/events.md', 'utf8');
const sections = new Map(
  page
    .split(/^## /m)
    .slice(1)
    .map((section) => [/^`(\w+)`/.exec(section)?.[1] ?? '', section] as const),
);

test('docs/events.md has a section for each type of event, and no other', () => {
  expect([...sections.keys()].sort()).toEqual(Object.keys(FEED_EVENTS).sort());
  expect(feedEventSchema.options.map((option) => option.shape.type.value).sort()).toEqual(Object.keys(FEED_EVENTS).sort());
});

test.each(Object.entries(FEED_EVENTS))('docs/events.md documents every field of %s, and no other', (type, schema) => {
  const documented = [...(sections.get(type) ?? '').matchAll(/^\| `(\w+)` \| .+ \|$/gm)].map(([, field]) => field);
  const fields = Object.keys(schema.shape).filter((field) => !['id', 'at', 'type'].includes(field));
  expect(documented.sort()).toEqual(fields.sort());
});

test.each(['round', 'toolset', 'held', 'decision'] as const)('docs/events.md names every word that %s may have', (type) => {
  const words = JSON.stringify(FEED_EVENTS[type].toJSONSchema({ io: 'input', unrepresentable: 'any' }));
  for (const [, list = ''] of words.matchAll(/"enum":\[([^\]]*)\]/g)) {
    for (const [, word] of list.matchAll(/"([^"]+)"/g)) expect(sections.get(type)).toContain(`\`${word}\``);
  }
});
