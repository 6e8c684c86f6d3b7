import type { Readable } from 'node:stream';

/** Hands on whole lines; text that does not end with a line break is handed on when the stream ends. */
export function readLines(stream: Readable | null, take: (line: string) => void): void {
  let rest = '';
  stream?.setEncoding('utf8');
  stream?.on('data', (text: string) => {
    const parts = (rest + text).split('\n');
    rest = parts.pop() ?? '';
    for (const part of parts) take(part);
  });
  stream?.on('end', () => {
    if (rest !== '') take(rest);
  });
}
