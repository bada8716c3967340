import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';

import type { HeldArtifact } from '../domain/artifact/retention.ts';
import { readS3Url, storeScheme, storeUrlProblem } from '../domain/artifact/storeUrl.ts';
import { SlipwayError } from '../domain/errors.ts';
import { folderStore } from './folderStore.ts';
import { s3Store } from './s3/s3Store.ts';

/** An artifact's bytes, as the store gives them out. */
export interface StoredArtifact {
  /** Fails with `SLIPWAY_ARTIFACT_CORRUPT` before its end where the bytes do not match the digest. */
  readonly stream: Readable;
  readonly sizeBytes: number;
}

/**
 * Holds artifacts, each named by the sha256 of its bytes, and one JSON record per release, which outlives Temporal's
 * retention. Everything appears whole or not at all, and is stored for good when the call returns.
 *
 * Every method throws `SLIPWAY_ARTIFACT_STORE_UNAVAILABLE` where the store itself cannot be read or written, and
 * `SLIPWAY_ARTIFACT_STORE_REFUSED` where it does not let us, or is not there at all.
 */
export interface ArtifactStore {
  /** A URL that {@link openArtifactStore} opens, on any machine that can reach the store. */
  readonly url: string;
  /**
   * Copies a file into the store. Putting the same artifact again sends nothing, and mends a damaged copy; it counts as
   * put anew. Two may put the same one at once.
   *
   * @param signal - ends it. What was sent of a large artifact is left where the next put of it goes on.
   * @throws SlipwayError `SLIPWAY_ARTIFACT_CORRUPT` when the file's bytes do not match the digest.
   */
  put(file: string, digest: string, signal?: AbortSignal): Promise<void>;
  has(digest: string): Promise<boolean>;
  /** @throws SlipwayError `SLIPWAY_ARTIFACT_NOT_FOUND`. */
  open(digest: string): Promise<StoredArtifact>;
  /**
   * Reads an artifact once through.
   *
   * @throws SlipwayError `SLIPWAY_ARTIFACT_NOT_FOUND`, or `SLIPWAY_ARTIFACT_CORRUPT`.
   */
  verify(digest: string): Promise<void>;
  /** The artifacts that it holds, sorted. What is no artifact of this store's layout is passed over. */
  listArtifacts(): Promise<readonly HeldArtifact[]>;
  /**
   * Removes an artifact, unless it was put since. One that is not there is removed already.
   *
   * @param unlessPutAfter - ISO 8601: when it was last put, as far as is known.
   * @returns whether it is not there any more.
   */
  removeArtifact(digest: string, unlessPutAfter: string): Promise<boolean>;
  /**
   * Writes a record, in place of one of the same name.
   *
   * @param name - segments separated by `/`.
   * @param record - anything that JSON can hold.
   */
  putRecord(name: string, record: unknown): Promise<void>;
  /** A record, or `undefined` where there is none of that name. */
  getRecord(name: string): Promise<unknown>;
  /** The names of the records whose names begin with `prefix`, sorted. Default: of all. */
  listRecords(prefix?: string): Promise<string[]>;
}

/**
 * Opens the artifact store behind an `s3:` URL, a `file:` URL, or a folder's path. Nothing is asked of it yet: a folder is
 * made when something is first put, and S3 is called when something is first asked.
 *
 * @throws SlipwayError `SLIPWAY_CONFIG_INVALID` for a URL of another kind.
 */
export function openArtifactStore(store: string): ArtifactStore {
  const scheme = storeScheme(store);
  if (scheme === undefined) return folderStore(store);
  if (scheme === 'file') return folderStore(fileURLToPath(store));
  const place = scheme === 's3' ? readS3Url(store) : undefined;
  if (typeof place === 'object') return s3Store(place);
  throw new SlipwayError(
    'SLIPWAY_CONFIG_INVALID',
    `the artifact store: ${storeUrlProblem(store) ?? scheme}`,
    {
      place: 'artifact.store',
      hint: 'Name a folder, or s3://BUCKET/PREFIX (docs/artifact-store.md).',
    },
  );
}
