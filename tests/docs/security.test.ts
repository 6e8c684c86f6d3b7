import { existsSync, readFileSync } from 'node:fs';

const [, ...chapters] = readFileSync('docs/security.md', 'utf8').split(/^## /m);
const threats = chapters.flatMap((chapter) =>
  chapter
    .split(/^- /m)
    .slice(1)
    .map((item) => item.replaceAll(/\s+/g, ' ').trim())
    .map((item) => ({ name: /^\*\*(.+?)\*\*/.exec(item)?.[1] ?? '', threat: item })),
);

test('docs/security.md has a chapter for everybody who may do harm', () => {
  expect(chapters.map((chapter) => chapter.split('\n')[0])).toEqual([
    'A hostile toolset',
    'Prompt injection through descriptions and results',
    'A hostile index',
    'A hostile client',
    'A curious user',
    'A stolen thread id',
    'A stolen token',
    'A compromised view',
  ]);
  expect(threats.length).toBeGreaterThan(35);
});

test.each(threats)('$name', ({ name, threat }) => {
  expect(name).not.toBe('');
  if (threat.includes('*This is a limit:*')) {
    expect(threat).toMatch(/\*What you do:\* .+/);
    return;
  }
  const [, code = '', tests = ''] = /\*Code:\* (.+?) \*Test:\* (.+)$/.exec(threat) ?? [];
  const files = [...code.matchAll(/`(src\/[^`]+)`/g)].map(([, file = '']) => file);
  expect(files.length).toBeGreaterThan(0);
  expect(files.filter((file) => !existsSync(file))).toEqual([]);
  const cited = [...tests.matchAll(/`(tests\/[^`]+)` — ((?:“[^”]+”(?:, )?)+)/g)].flatMap(([, file = '', titles = '']) =>
    [...titles.matchAll(/“([^”]+)”/g)].map(([, title = '']) => ({ file, title })),
  );
  expect(cited.length).toBeGreaterThan(0);
  expect(cited.filter(({ file, title }) => !isTitleIn(file, title))).toEqual([]);
});

/** Whether the file has a test of exactly this title: a whole string that is the first argument of a call. */
function isTitleIn(file: string, title: string): boolean {
  if (!existsSync(file)) return false;
  const text = readFileSync(file, 'utf8');
  return ["'", '"', '`'].some((quote) => {
    const literal = `${quote}${title.replaceAll(quote, `\\${quote}`)}${quote}`;
    return text.includes(`(${literal}`) || new RegExp(`\\(\\s+${escaped(literal)}`).test(text);
  });
}

function escaped(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\/]/g, '\\$&');
}
