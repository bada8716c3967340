import { createHash, type Hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { type FileHandle, stat } from 'node:fs/promises';

import { corrupt } from '../verifiedBytes.ts';

/** How large a part is: the smallest that S3 takes, so that little is lost with a connection that is cut. */
export const PART_BYTES = 5 << 20;

/** A part of a file, as it is sent. */
export interface Part {
  /** From 1. */
  readonly number: number;
  readonly start: number;
  readonly sizeBytes: number;
  /** The MD5 of its bytes: what S3 holds them against on arrival, and calls them by. Hexadecimal. */
  readonly md5: string;
}

/** A file that is to be put: read once through, and found to be what its digest says. */
export interface UploadPlan {
  readonly file: string;
  readonly digest: string;
  readonly sizeBytes: number;
  readonly parts: readonly Part[];
  /** What S3 calls the object once it is there: sent whole, or in these parts. Encrypted, it may be called otherwise. */
  readonly etags: readonly string[];
}

/**
 * Reads a file through, and says how it is sent.
 *
 * @throws SlipwayError `SLIPWAY_ARTIFACT_CORRUPT` where its bytes do not match the digest.
 */
export async function uploadPlan(file: string, digest: string, signal?: AbortSignal): Promise<UploadPlan> {
  const { size: sizeBytes } = await stat(file);
  const [sha256, whole, ofParts] = [createHash('sha256'), createHash('md5'), createHash('md5')];
  const parts: Part[] = [];
  let [start, filled, part]: [number, number, Hash] = [0, 0, createHash('md5')];
  const endPart = (): void => {
    const md5 = part.digest();
    ofParts.update(md5);
    parts.push({ number: parts.length + 1, start, sizeBytes: filled, md5: md5.toString('hex') });
    [start, filled, part] = [start + filled, 0, createHash('md5')];
  };
  // A part is a whole number of these chunks.
  for await (const chunk of createReadStream(file, { highWaterMark: 1 << 20, signal })) {
    const bytes = chunk as Buffer;
    sha256.update(bytes);
    whole.update(bytes);
    part.update(bytes);
    filled += bytes.length;
    if (filled === PART_BYTES) endPart();
  }
  if (filled > 0 || parts.length === 0) endPart();
  const found = `sha256:${sha256.digest('hex')}`;
  if (found !== digest) throw corrupt(digest, file);
  const etags = [whole.digest('hex'), `${ofParts.digest('hex')}-${parts.length}`];
  return { file, digest, sizeBytes, parts, etags };
}

/**
 * The bytes of one part.
 *
 * @throws SlipwayError `SLIPWAY_ARTIFACT_CORRUPT` where the file has changed since it was planned.
 */
export async function readPart(plan: UploadPlan, handle: FileHandle, part: Part): Promise<Buffer> {
  const bytes = Buffer.allocUnsafeSlow(part.sizeBytes);
  const { bytesRead } = await handle.read(bytes, 0, part.sizeBytes, part.start);
  const md5 = createHash('md5').update(bytes).digest('hex');
  if (bytesRead !== part.sizeBytes || md5 !== part.md5) throw corrupt(plan.digest, plan.file);
  return bytes;
}
