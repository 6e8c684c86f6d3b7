import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { arch, platform, tmpdir } from 'node:os';
import { join } from 'node:path';
import { isEnough, newerNode } from '../../bench/peers/node-22.js';

test('peers that ask for Node 22.22 run on that version and on later ones', () => {
  expect(['v20.19.0', 'v22.21.9', 'v22.22.0', 'v22.23.3', 'v24.0.0'].map(isEnough)).toEqual([false, false, true, true, true]);
});

test('the Node among the peers is taken where the running one is too old, and none where it is not installed', () => {
  const folder = `${mkdtempSync(join(tmpdir(), 'peers-'))}/`;
  try {
    const isNew = isEnough(process.version);
    expect(newerNode(folder)).toBe(isNew ? process.execPath : undefined);
    const binaries = `${folder}node-22/node_modules/node-${platform()}-${arch()}/bin`;
    mkdirSync(binaries, { recursive: true });
    writeFileSync(`${binaries}/node`, '');
    expect(newerNode(folder)).toBe(isNew ? process.execPath : `${binaries}/node`);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
