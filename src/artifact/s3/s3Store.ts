import { open } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';

import type {
  _Object as ListedObject,
  GetObjectCommandOutput,
  HeadObjectCommandOutput,
  S3,
} from '@aws-sdk/client-s3';

import { type S3Place, s3Url } from '../../domain/artifact/storeUrl.ts';
import { SlipwayError } from '../../domain/errors.ts';
import {
  artifactDigest,
  artifactPath,
  ARTIFACTS,
  type ArtifactStore,
  recordName,
  recordOfText,
  recordPath,
  RECORDS,
  type StoredArtifact,
} from '../artifactStore.ts';
import { artifactNotFound, corrupt, verifiedBytes } from '../digest.ts';
import {
  abortUploads,
  base64,
  type ObjectKey,
  readPart,
  unquoted,
  uploadInParts,
  uploadPlan,
  type UploadPlan,
} from './upload.ts';
import { askS3, connectS3 } from './s3Client.ts';

/** How many times to start an upload if other processes end it. */
const UPLOADS = 3;
const CONTENT = { ContentType: 'application/gzip' } as const;

/** How long an artifact counts as just put, in milliseconds: far below the age for removal. */
const FRESH_MS = 600_000;

/** An artifact store in S3, with the layout of a folder store below the prefix of its place. */
export function s3Store(place: S3Place): ArtifactStore {
  const url = s3Url(place);
  const objectAt = (path: string): ObjectKey => ({ Bucket: place.bucket, Key: `${place.prefix}${path}` });
  const ask = <T, A = never>(
    call: (s3: S3) => Promise<T>,
    absent?: { readonly instead: A },
  ): Promise<T | A> => askS3(place, async () => call(await connectS3(place)), absent);

  const openArtifact = async (digest: string): Promise<StoredArtifact> => {
    const object = objectAt(artifactPath(digest));
    const answer = await ask((s3) => s3.getObject(object), { instead: undefined });
    if (answer === undefined) throw artifactNotFound(digest, url);
    const body = bodyOf(answer);
    const stream = verifiedBytes(chunksOf(place, body), digest, `${url}: ${object.Key}`);
    // A stream that is never read would keep the connection open.
    stream.once('close', () => body.destroy());
    return { stream, sizeBytes: answer.ContentLength ?? 0 };
  };

  const verify = async (digest: string): Promise<void> => {
    const { stream } = await openArtifact(digest);
    await finished(stream.resume());
  };

  const head = (digest: string): Promise<HeadObjectCommandOutput | undefined> =>
    ask((s3) => s3.headObject(objectAt(artifactPath(digest))), { instead: undefined });

  /** The object of an artifact if it is complete. Its bytes are read only if the entity tag does not prove that. */
  const wholeObject = async ({
    digest,
    sizeBytes,
    etags,
  }: UploadPlan): Promise<HeadObjectCommandOutput | undefined> => {
    const found = await head(digest);
    if (found?.ContentLength !== sizeBytes) return undefined;
    if (etags.includes(unquoted(found.ETag) ?? '')) return found;
    return verify(digest).then(
      () => found,
      (error: unknown) => {
        if (isNotWhole(error)) return undefined;
        throw error;
      },
    );
  };
  const holds = async (plan: UploadPlan): Promise<boolean> => (await wholeObject(plan)) !== undefined;

  /** Renews the time of an artifact with a copy within S3. Returns whether it still exists. */
  const renew = async (digest: string, { LastModified }: HeadObjectCommandOutput): Promise<boolean> => {
    if (LastModified !== undefined && Date.now() - LastModified.getTime() < FRESH_MS) return true;
    const object = objectAt(artifactPath(digest));
    const CopySource = `${object.Bucket}/${object.Key.split('/').map(encodeURIComponent).join('/')}`;
    const copy = { ...object, ...CONTENT, CopySource, MetadataDirective: 'REPLACE' } as const;
    return ask((s3) => s3.copyObject(copy).then(() => true), { instead: false });
  };

  const send = async (plan: UploadPlan, signal: AbortSignal | undefined): Promise<void> => {
    const object = objectAt(artifactPath(plan.digest));
    const handle = await open(plan.file);
    try {
      const [first, ...others] = plan.parts;
      if (first !== undefined && others.length === 0) {
        const Body = await readPart(plan, handle, first);
        const ContentMD5 = base64(first.md5);
        await ask((s3) => s3.putObject({ ...object, ...CONTENT, Body, ContentMD5 }, { abortSignal: signal }));
        return;
      }
      for (let uploads = 1; uploads <= UPLOADS; uploads += 1) {
        const made = await ask((s3) => uploadInParts(s3, object, plan, handle, signal));
        if (made || (await holds(plan))) break;
      }
      await ask((s3) => abortUploads(s3, object));
    } finally {
      await handle.close();
    }
  };

  return {
    url,
    verify,
    open: openArtifact,

    async put(file, digest, signal) {
      const plan = await uploadPlan(file, digest, signal);
      const found = await wholeObject(plan);
      if (found !== undefined && (await renew(digest, found))) return;
      await send(plan, signal);
      if (!(await holds(plan))) throw corrupt(digest, `${url}: ${artifactPath(digest)}`);
    },

    async has(digest) {
      return (await head(digest)) !== undefined;
    },

    async listArtifacts() {
      const Prefix = `${place.prefix}${ARTIFACTS}`;
      const objects = await ask((s3) => objectsBelow(s3, { Bucket: place.bucket, Prefix }));
      return objects.flatMap(({ Key = '', Size = 0, LastModified }) => {
        const digest = artifactDigest(Key.slice(place.prefix.length));
        if (digest === undefined || LastModified === undefined) return [];
        return [{ digest, sizeBytes: Size, putAt: LastModified.toISOString() }];
      });
    },

    async removeArtifact(digest, unlessPutAfter) {
      const found = await head(digest);
      if (found === undefined) return true;
      if (found.LastModified === undefined || found.LastModified > new Date(unlessPutAfter)) return false;
      await ask((s3) => s3.deleteObject(objectAt(artifactPath(digest))));
      return true;
    },

    async putRecord(name, record) {
      const Body = `${JSON.stringify(record, null, 2)}\n`;
      const object = objectAt(recordPath(name));
      await ask((s3) => s3.putObject({ ...object, Body, ContentType: 'application/json' }));
    },

    async getRecord(name) {
      const object = objectAt(recordPath(name));
      const text = await ask(async (s3) => (await s3.getObject(object)).Body?.transformToString(), {
        instead: undefined,
      });
      return text === undefined ? undefined : recordOfText(text, name, url);
    },

    async removeRecord(name) {
      await ask((s3) => s3.deleteObject(objectAt(recordPath(name))));
    },

    async listRecords(prefix = '') {
      // Escaped character by character, so that a name's prefix is also its key's prefix.
      const Prefix = `${place.prefix}${RECORDS}${prefix.split('/').map(encodeURIComponent).join('/')}`;
      const objects = await ask((s3) => objectsBelow(s3, { Bucket: place.bucket, Prefix }));
      return objects
        .flatMap(({ Key }) => (Key === undefined ? [] : (recordName(Key.slice(place.prefix.length)) ?? [])))
        .sort();
    },
  };
}

async function objectsBelow(
  s3: S3,
  below: { readonly Bucket: string; readonly Prefix: string },
): Promise<ListedObject[]> {
  const objects: ListedObject[] = [];
  let ContinuationToken: string | undefined;
  do {
    const page = await s3.listObjectsV2({ ...below, ContinuationToken });
    objects.push(...(page.Contents ?? []));
    ContinuationToken = page.NextContinuationToken;
  } while (ContinuationToken !== undefined);
  return objects;
}

function bodyOf({ Body }: GetObjectCommandOutput): Readable {
  if (Body === undefined || !('destroy' in Body)) throw new TypeError('S3 answered without a body');
  return Body;
}

/** The chunks of an answer. If the connection breaks, the store's error is thrown. */
async function* chunksOf(place: S3Place, body: Readable): AsyncGenerator<Buffer, void> {
  const chunks = body[Symbol.asyncIterator]();
  for (;;) {
    const next = await askS3(place, () => chunks.next() as Promise<IteratorResult<Buffer, undefined>>);
    if (next.done === true) return;
    yield next.value;
  }
}

function isNotWhole(error: unknown): boolean {
  if (!(error instanceof SlipwayError)) return false;
  return error.code === 'SLIPWAY_ARTIFACT_CORRUPT' || error.code === 'SLIPWAY_ARTIFACT_NOT_FOUND';
}
