import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { Readable } from 'node:stream';

import { SlipwayError } from '../domain/errors.ts';

const DIGEST = /^sha256:[0-9a-f]{64}$/;

/** Whether a text is an artifact's digest: `sha256:` and 64 lower-case hexadecimal digits. */
export function isDigest(text: string): boolean {
  return DIGEST.test(text);
}

/** The digest of a file's bytes, read as a stream. */
export async function digestFile(file: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(file, { highWaterMark: 1 << 20 })) hash.update(chunk as Buffer);
  return `sha256:${hash.digest('hex')}`;
}

/**
 * An artifact's bytes, verified while they are read. The last bytes are returned only after all of them were
 * verified, so that no reader forwards a complete wrong artifact. The stream fails with `SLIPWAY_ARTIFACT_CORRUPT`
 * before its end. `place`: for the error.
 */
export function verifiedBytes(chunks: AsyncIterable<Buffer>, digest: string, place: string): Readable {
  const hash = createHash('sha256');
  const verified = async function* (): AsyncGenerator<Buffer> {
    let heldBack: Buffer | undefined;
    for await (const chunk of chunks) {
      hash.update(chunk);
      if (heldBack !== undefined) yield heldBack;
      heldBack = chunk;
    }
    if (`sha256:${hash.digest('hex')}` !== digest) throw corrupt(digest, place);
    if (heldBack !== undefined) yield heldBack;
  };
  return Readable.from(verified(), { objectMode: false });
}

/** The error if the bytes at a place do not match their digest. */
export function corrupt(digest: string, place: string): SlipwayError {
  return new SlipwayError('SLIPWAY_ARTIFACT_CORRUPT', `the bytes of ${place} do not match ${digest}`, {
    place,
    hint: 'Release again: the release uploads a complete copy.',
  });
}

export function artifactNotFound(digest: string, store: string): SlipwayError {
  return new SlipwayError(
    'SLIPWAY_ARTIFACT_NOT_FOUND',
    `the artifact store ${store} has no artifact ${digest}`,
    {
      place: store,
      hint: 'The worker and the command must use the same store (`artifact.store`); release again to upload it.',
    },
  );
}
