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
  const decoder = DECODERS[coding?.toLowerCase() ?? '']?.();
  if (decoder === undefined) return body;
  // An answer without content (204, or 200 to a DELETE) may have the header, and then ends at once.
  const flush = decoder._flush.bind(decoder);
  decoder._flush = (done) => (decoder.bytesWritten === 0 ? done() : flush(done));
  // An error of the body reaches the reader of the decoder, too.
  return pipeline(body, decoder, () => undefined);
}
