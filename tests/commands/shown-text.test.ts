import { painter, shownNames, shownText } from '../../src/commands/shown-text.js';

test('what a terminal would obey or hide is shown by its code point', () => {
  expect(shownText('safe \u001B[2J\u009B31m\r\n\u200Bname\u202E\u{E0041}')).toBe(
    'safe ⟨U+001B⟩[2J⟨U+009B⟩31m⟨U+000D⟩⟨U+000A⟩⟨U+200B⟩name⟨U+202E⟩⟨U+E0041⟩',
  );
  expect(shownText('Straße 読取 ✓ 🚀')).toBe('Straße 読取 ✓ 🚀');
});

test('many names are cut short', () => {
  expect(shownNames(['a', 'b', 'c', 'd'], 2)).toBe('a, b and 2 more');
  expect(shownNames(['a', 'b'], 2)).toBe('a, b');
});

test('colours are terminal codes, or nothing at all', () => {
  expect(painter(true)('red', 'x')).toBe('\u001B[31mx\u001B[0m');
  expect(painter(false)('red', 'x')).toBe('x');
});
