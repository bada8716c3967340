import { pipeline, type Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';

const DECODERS: Readonly<Record<string, typeof createGunzip | typeof createBrotliDecompress>> = {
  br: createBrotliDecompress,
  deflate: createInflate,
  gzip: createGunzip,
  'x-gzip': createGunzip,
};

/**
 * A body without its content coding (RFC 9110, 12.5.3: a request without `Accept-Encoding` accepts any). A body that
 * cannot be decoded fails as one that was cut off.
 * @param coding - the header `Content-Encoding`.
 */
export function decodedBody(body: Readable, coding: string | undefined): Readable {
  const decoder = DECODERS[coding?.toLowerCase() ?? ''];
  // An error of the body reaches the reader of the decoder, too.
  return decoder === undefined ? body : pipeline(body, decoder(), () => undefined);
}
