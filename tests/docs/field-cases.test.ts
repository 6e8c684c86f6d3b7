import { existsSync, readFileSync } from 'node:fs';

const page = readFileSync('docs/field-cases.md', 'utf8');
const rows = page.split('\n').filter((line) => /^\| B\d/.test(line));

test('every case of the list has a row, and every row a status', () => {
  const ids = new Set(rows.map((row) => /^\| (B\d+)/.exec(row)?.[1]));
  expect(ids.size).toBe(102);
  for (const row of rows) expect(row).toMatch(/held|contract differs|does not apply/);
});

test('every test file that the page names exists, and mentions the case', () => {
  for (const row of rows) {
    const id = /^\| (B\d+)/.exec(row)?.[1] ?? '';
    const files = [...row.matchAll(/`(tests\/[\w./-]+\.test\.ts)`/g)].map(([, file]) => file ?? '');
    for (const file of files) expect([file, existsSync(file)]).toEqual([file, true]);
    if (/does not apply/.test(row) || files.length === 0) continue;
    expect([id, files.some((file) => readFileSync(file, 'utf8').includes(id))]).toEqual([id, true]);
  }
});
