import { Figures } from '../../bench/harness/figures.js';

test('the figures of the rounds become one cell for each contestant', () => {
  const figures = new Figures();
  for (const figure of [3, 1, 2]) figures.add('ours', figure);
  figures.add('floor', 1);
  figures.cannot('a peer', 'it does not listen');
  expect(figures.cell('ours')).toEqual({ median: 2, min: 1, max: 3, rounds: 3 });
  expect(figures.others('ours')).toEqual({
    floor: { median: 1, min: 1, max: 1, rounds: 1 },
    'a peer': { cannot: 'it does not listen' },
  });
});

test('a failure in one round is not hidden by the figures of the others', () => {
  const figures = new Figures();
  figures.add('a peer', 5);
  figures.cannot('a peer', 'not served within 12 s');
  expect(figures.cell('a peer')).toEqual({ cannot: 'not served within 12 s (1 of 2 times)' });
});

test('who was never measured has no figure', () => {
  expect(new Figures().cell('ours')).toEqual({ cannot: 'not measured' });
});
