import { Gzip } from 'fflate';

/** Bytes handed to the compressor at once: what it makes of them depends on where they are cut. */
const PIECE_BYTES = 1 << 16;
/** The tenth byte of a gzip file names the operating system that made it; 255 is "unknown". */
const SYSTEM_BYTE = 9;

/**
 * Compresses a stream with gzip, to the same bytes on every machine. Node's own zlib does not promise that: another
 * release, a distribution's build or another processor may find other matches in the same content.
 */
export async function* gzipStream(chunks: AsyncIterable<Buffer>): AsyncGenerator<Uint8Array> {
  let made: Uint8Array[] = [];
  const gzip = new Gzip({ level: 6, mtime: 0 }, (piece) => made.push(piece));
  let isFirst = true;
  const take = function* (): Generator<Uint8Array> {
    for (const piece of made) {
      if (isFirst) piece[SYSTEM_BYTE] = 255;
      isFirst = false;
      yield piece;
    }
    made = [];
  };
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of chunks) {
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    let from = 0;
    for (; bytes.length - from >= PIECE_BYTES; from += PIECE_BYTES) {
      gzip.push(bytes.subarray(from, from + PIECE_BYTES));
      yield* take();
    }
    rest = bytes.subarray(from);
  }
  gzip.push(rest, true);
  yield* take();
}
