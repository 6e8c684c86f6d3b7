import { modelContent } from '../../src/agent/tool-content.js';

const image = { type: 'image', data: 'aGVsbG8=', mimeType: 'image/png' };
const of = (content: Record<string, unknown>[], structuredContent?: unknown) => ({ content, structuredContent, isError: false });

test.each([
  [
    'text blocks',
    of([
      { type: 'text', text: 'a' },
      { type: 'text', text: 'b' },
    ]),
    'a\nb',
  ],
  ['nothing', of([]), ''],
  ['structured content alone', of([], { n: 1 }), '{"n":1}'],
  ['text with structured content', of([{ type: 'text', text: 'one' }], { n: 1 }), 'one'],
  ['a text resource', of([{ type: 'resource', resource: { uri: 'file:///a', text: 'inside' } }]), 'inside'],
  [
    'a binary resource',
    of([{ type: 'resource', resource: { uri: 'file:///a', mimeType: 'application/zip', blob: 'aGVsbG8=' } }]),
    '[resource file:///a, application/zip, 6 bytes]',
  ],
  ['a link', of([{ type: 'resource_link', uri: 'https://a.example', name: 'A' }]), '[link] https://a.example – A'],
  ['audio', of([{ type: 'audio', data: 'aGVsbG8=', mimeType: 'audio/wav' }]), '[audio, audio/wav, 6 bytes]'],
  ['an unknown kind', of([{ type: 'hologram' }]), '[hologram]'],
  ['an image that the provider refuses', of([image]), '[image, image/png, 6 bytes]'],
])('%s becomes text for the model', (_what, result, expected) => {
  expect(modelContent(result, 'described')).toBe(expected);
});

test('an image stays an image where the provider takes it', () => {
  expect(modelContent(of([{ type: 'text', text: 'see' }, image]), 'block')).toEqual([
    { type: 'text', text: 'see' },
    { type: 'image_url', image_url: { url: 'data:image/png;base64,aGVsbG8=' } },
  ]);
});
