import { createHash, type Hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { type FileHandle, stat } from 'node:fs/promises';

import type { CompletedPart, S3 } from '@aws-sdk/client-s3';

import { corrupt } from '../digest.ts';
import { isUploadGone } from './s3Client.ts';

/** The size of a part: the smallest that S3 accepts, so that little is lost if the connection breaks. */
export const PART_BYTES = 5 << 20;

interface Part {
  /** From 1. */
  readonly number: number;
  readonly start: number;
  readonly sizeBytes: number;
  /** The hexadecimal MD5 of its bytes. S3 verifies it on arrival, and uses it as the part's entity tag. */
  readonly md5: string;
}

/** A file to put, after its bytes were checked against its digest. */
export interface UploadPlan {
  readonly file: string;
  readonly digest: string;
  readonly sizeBytes: number;
  readonly parts: readonly Part[];
  /** The possible entity tags of the object: sent whole or in these parts. With encryption, S3 may use others. */
  readonly etags: readonly string[];
}

/** Reads a file, and plans its upload. @throws SlipwayError `SLIPWAY_ARTIFACT_CORRUPT`. */
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

/** The bytes of one part. @throws SlipwayError `SLIPWAY_ARTIFACT_CORRUPT` if the file has changed. */
export async function readPart(plan: UploadPlan, handle: FileHandle, part: Part): Promise<Buffer> {
  const bytes = Buffer.allocUnsafeSlow(part.sizeBytes);
  const { bytesRead } = await handle.read(bytes, 0, part.sizeBytes, part.start);
  const md5 = createHash('md5').update(bytes).digest('hex');
  if (bytesRead !== part.sizeBytes || md5 !== part.md5) throw corrupt(plan.digest, plan.file);
  return bytes;
}

export interface ObjectKey {
  readonly Bucket: string;
  readonly Key: string;
}

interface BegunUpload extends ObjectKey {
  readonly UploadId: string | undefined;
}

/** How many parts to send at once. Their bytes are in memory meanwhile. */
const AT_ONCE = 4;

/**
 * Sends a file in parts, and continues an interrupted upload. (The SDK's own `Upload` in `lib-storage` always starts
 * anew.)
 * @returns whether the object was created; `false` if another process ended the upload, and most likely created the
 * object.
 */
export async function uploadInParts(
  s3: S3,
  object: ObjectKey,
  plan: UploadPlan,
  handle: FileHandle,
  signal?: AbortSignal,
): Promise<boolean> {
  const begun = (await uploadsBegun(s3, object))[0];
  const UploadId =
    begun ?? (await s3.createMultipartUpload({ ...object, ContentType: 'application/gzip' })).UploadId;
  const upload = { ...object, UploadId };
  try {
    const there = begun === undefined ? [] : await partsThere(s3, upload, plan);
    const sent = await sendParts(s3, upload, plan, handle, there, signal);
    const Parts = [...there, ...sent].sort((one, other) => (one.PartNumber ?? 0) - (other.PartNumber ?? 0));
    await s3.completeMultipartUpload({ ...upload, MultipartUpload: { Parts } });
  } catch (error) {
    if (isUploadGone(error)) return false;
    throw error;
  }
  return true;
}

/** Aborts the unfinished uploads of an object, which exists now. */
export async function abortUploads(s3: S3, object: ObjectKey): Promise<void> {
  for (const UploadId of await uploadsBegun(s3, object)) {
    try {
      await s3.abortMultipartUpload({ ...object, UploadId });
    } catch (error) {
      if (!isUploadGone(error)) throw error;
    }
  }
}

/** The unfinished uploads of an object, oldest first. */
async function uploadsBegun(s3: S3, { Bucket, Key }: ObjectKey): Promise<readonly string[]> {
  const { Uploads = [] } = await s3.listMultipartUploads({ Bucket, Prefix: Key });
  return Uploads.filter((upload) => upload.Key === Key)
    .sort((one, other) => (one.Initiated?.getTime() ?? 0) - (other.Initiated?.getTime() ?? 0))
    .flatMap(({ UploadId }) => UploadId ?? []);
}

/** The uploaded parts that match the plan. Damaged parts do not. */
async function partsThere(
  s3: S3,
  upload: BegunUpload,
  { parts }: UploadPlan,
): Promise<readonly CompletedPart[]> {
  // One answer lists 1,000 parts: 25 times as many as the largest artifact has.
  const { Parts = [] } = await s3.listParts(upload);
  return Parts.filter(({ PartNumber, Size, ETag }) => {
    const planned = parts.find(({ number }) => number === PartNumber);
    return planned !== undefined && Size === planned.sizeBytes && unquoted(ETag) === planned.md5;
  }).map(({ PartNumber, ETag }) => ({ PartNumber, ETag }));
}

async function sendParts(
  s3: S3,
  upload: BegunUpload,
  plan: UploadPlan,
  handle: FileHandle,
  there: readonly CompletedPart[],
  signal: AbortSignal | undefined,
): Promise<readonly CompletedPart[]> {
  const waiting = plan.parts.filter(({ number }) => !there.some(({ PartNumber }) => PartNumber === number));
  const sent: CompletedPart[] = [];
  const lane = async (): Promise<void> => {
    try {
      for (let part = waiting.shift(); part !== undefined; part = waiting.shift()) {
        signal?.throwIfAborted();
        sent.push(await sendPart(s3, upload, plan, handle, part, signal));
      }
    } catch (error) {
      // Parts that are being sent still arrive and need not be sent again. No further part is started.
      waiting.length = 0;
      throw error;
    }
  };
  const lanes = await Promise.allSettled(Array.from({ length: AT_ONCE }, lane));
  const failed = lanes.find((ended) => ended.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
  return sent;
}

async function sendPart(
  s3: S3,
  upload: BegunUpload,
  plan: UploadPlan,
  handle: FileHandle,
  part: Part,
  abortSignal: AbortSignal | undefined,
): Promise<CompletedPart> {
  const Body = await readPart(plan, handle, part);
  const { ETag } = await s3.uploadPart(
    { ...upload, PartNumber: part.number, Body, ContentMD5: base64(part.md5) },
    { abortSignal },
  );
  return { PartNumber: part.number, ETag };
}

/** An entity tag without its quotation marks. */
export function unquoted(etag: string | undefined): string | undefined {
  return etag?.replaceAll('"', '');
}

/** An MD5 as in the header `Content-MD5`. */
export function base64(md5: string): string {
  return Buffer.from(md5, 'hex').toString('base64');
}
