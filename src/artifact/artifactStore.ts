import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';

import { SlipwayError } from '../domain/errors.ts';
import { folderStore } from './folderStore.ts';

/** An artifact's bytes, as the store gives them out. */
export interface StoredArtifact {
  /** Fails with `SLIPWAY_ARTIFACT_CORRUPT` before its end where the bytes do not match the digest. */
  readonly stream: Readable;
  readonly sizeBytes: number;
}

/**
 * Holds artifacts, each named by the sha256 of its bytes, and one JSON record per release, which outlives Temporal's
 * retention. Everything appears whole or not at all, and is on the disk when the call returns.
 *
 * Every method throws `SLIPWAY_ARTIFACT_STORE_UNAVAILABLE` where the store itself cannot be read or written.
 */
export interface ArtifactStore {
  /** A URL that {@link openArtifactStore} opens, on any machine that can reach the store. */
  readonly url: string;
  /**
   * Copies a file into the store. Putting the same artifact again changes nothing, and mends a damaged copy.
   *
   * @throws SlipwayError `SLIPWAY_ARTIFACT_CORRUPT` when the file's bytes do not match the digest.
   */
  put(file: string, digest: string): Promise<void>;
  has(digest: string): Promise<boolean>;
  /** @throws SlipwayError `SLIPWAY_ARTIFACT_NOT_FOUND`. */
  open(digest: string): Promise<StoredArtifact>;
  /**
   * Reads an artifact once through.
   *
   * @throws SlipwayError `SLIPWAY_ARTIFACT_NOT_FOUND`, or `SLIPWAY_ARTIFACT_CORRUPT`.
   */
  verify(digest: string): Promise<void>;
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
 * Opens the artifact store behind a `file:` URL, or a folder's path. The folder is made when something is first put.
 *
 * @throws SlipwayError `SLIPWAY_CONFIG_INVALID` for a URL of another kind.
 */
export function openArtifactStore(url: string): ArtifactStore {
  if (url.startsWith('file:')) return folderStore(fileURLToPath(url));
  // One letter before the colon is a drive of Windows.
  if (/^[A-Za-z][A-Za-z0-9+.-]+:/.test(url)) {
    const scheme = url.slice(0, url.indexOf(':'));
    throw new SlipwayError('SLIPWAY_CONFIG_INVALID', `there is no artifact store for "${scheme}:" URLs`, {
      place: 'artifact.store',
      hint: 'Name a folder, by its path or as a file: URL.',
    });
  }
  return folderStore(url);
}
