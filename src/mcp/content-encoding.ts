import { pipeline, type Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';

const DECODERS = { gzip: createGunzip, 'x-gzip': createGunzip, deflate: createInflate, br: createBrotliDecompress } as const;

/**
 * The body without its content encoding. No request asks for one, but some proxies compress whatever they pass on. An encoding that is
 * not known, or several at once, leave the body as it is; then it is no JSON, and the answer is refused as such.
 */
export function decoded(body: Readable, encoding: string | string[] | undefined): Readable {
  const name = String(encoding ?? '')
    .trim()
    .toLowerCase();
  const create = Object.hasOwn(DECODERS, name) ? DECODERS[name as keyof typeof DECODERS] : undefined;
  if (create === undefined) return body;
  // Whoever reads the decoded body gets the error; here it needs no second answer.
  return pipeline(body, create(), () => undefined);
}
