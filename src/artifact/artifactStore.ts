import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';

import { canonicalJson } from '@slipway/contract/json';

import type { HeldArtifact } from '../domain/artifact/retention.ts';
import type { Check } from '../domain/check/check.ts';
import { onSlipwayError, SlipwayError } from '../domain/errors.ts';
import { parsedJson } from '../domain/scalars.ts';
import { type Kept, keptStateOf } from '../domain/target/targetState.ts';
import { isDigest } from './digest.ts';

/** An artifact's bytes, as the store returns them. */
export interface StoredArtifact {
  /** Fails with `SLIPWAY_ARTIFACT_CORRUPT` before its end if the bytes do not match the digest. */
  readonly stream: Readable;
  readonly sizeBytes: number;
}

/**
 * Stores artifacts by the sha256 of their bytes, and one JSON record per release, which outlives Temporal's
 * retention. All writes are atomic, and durable when the call returns. Each method throws
 * `SLIPWAY_ARTIFACT_STORE_UNAVAILABLE`, or `SLIPWAY_ARTIFACT_STORE_REFUSED` if a person must change something first.
 */
export interface ArtifactStore {
  /** A URL that `openArtifactStore` opens on any machine that can reach the store. */
  readonly url: string;
  /**
   * Copies a file into the store. If the store has the artifact, it sends nothing, but repairs a damaged copy and
   * renews the time of the put. Two processes may put the same artifact at once. If `signal` ends the put of a large
   * artifact, the next put continues with what was sent.
   * @throws SlipwayError `SLIPWAY_ARTIFACT_CORRUPT` if the file's bytes do not match the digest.
   */
  put(file: string, digest: string, signal?: AbortSignal): Promise<void>;
  has(digest: string): Promise<boolean>;
  /** @throws SlipwayError `SLIPWAY_ARTIFACT_NOT_FOUND`. */
  open(digest: string): Promise<StoredArtifact>;
  /** Reads a whole artifact. @throws SlipwayError `SLIPWAY_ARTIFACT_NOT_FOUND`, or `SLIPWAY_ARTIFACT_CORRUPT`. */
  verify(digest: string): Promise<void>;
  /** The artifacts in the store, sorted. Files that do not fit the store's layout are ignored. */
  listArtifacts(): Promise<readonly HeldArtifact[]>;
  /** Removes an artifact, unless it was put after an instant (ISO 8601). Returns whether it is gone. */
  removeArtifact(digest: string, unlessPutAfter: string): Promise<boolean>;
  /** Writes a record as JSON, and replaces one with the same name. `name`: segments separated by `/`. */
  putRecord(name: string, record: unknown): Promise<void>;
  /** A record; `undefined` if there is none with that name. @throws SlipwayError `SLIPWAY_RECORD_UNREADABLE`. */
  getRecord(name: string): Promise<unknown>;
  /** Removes a record, if there is one with that name. */
  removeRecord(name: string): Promise<void>;
  /** The names of the records that begin with `prefix`, sorted. Default: all. */
  listRecords(prefix?: string): Promise<string[]>;
}

/** The layout of a store: relative paths with `/` for each kind, so that a folder can be copied into a bucket. */

/** The artifacts: `<first two digits>/<digits>.tar.gz`. */
export const ARTIFACTS = 'artifacts/sha256/';
/** The records, by their escaped names. */
export const RECORDS = 'records/';

/** The path of an artifact. @throws SlipwayError `SLIPWAY_ARTIFACT_NOT_FOUND` if the text is not a digest. */
export function artifactPath(digest: string): string {
  if (!isDigest(digest)) {
    throw new SlipwayError('SLIPWAY_ARTIFACT_NOT_FOUND', `"${digest}" is not the digest of an artifact`, {
      hint: 'A digest is sha256: and 64 hexadecimal digits.',
    });
  }
  const digits = digest.slice('sha256:'.length);
  return `${ARTIFACTS}${digits.slice(0, 2)}/${digits}.tar.gz`;
}

/** The digest of the artifact at a path; `undefined` if the path is not an artifact's. */
export function artifactDigest(path: string): string | undefined {
  const digits = /\/([0-9a-f]{64})\.tar\.gz$/.exec(path)?.[1];
  if (digits === undefined) return undefined;
  const digest = `sha256:${digits}`;
  return artifactPath(digest) === path ? digest : undefined;
}

/** The path of a record, with characters escaped that are not allowed in a file name or lead out of the store. */
export function recordPath(name: string): string {
  const segments = name.split('/');
  if (segments.some((segment) => segment === '' || segment === '.' || segment === '..')) {
    throw new TypeError(`"${name}" cannot name a record`);
  }
  return `${RECORDS}${segments.map(encodeURIComponent).join('/')}`;
}

/** The name of the record at a path; `undefined` if the path is not a record's. */
export function recordName(path: string): string | undefined {
  try {
    return path.slice(RECORDS.length).split('/').map(decodeURIComponent).join('/');
  } catch {
    return undefined;
  }
}

/** A record from its text. @throws SlipwayError `SLIPWAY_RECORD_UNREADABLE` if it is not JSON. */
export function recordOfText(text: string, name: string, place: string): unknown {
  const record = parsedJson(text);
  if (record !== undefined) return record;
  throw new SlipwayError('SLIPWAY_RECORD_UNREADABLE', `the record ${name} is not JSON`, {
    place,
    hint: 'Restore the file from a backup, or move it out of the store.',
  });
}

/** The digest of a list of checks. Equal lists have the same digest. */
export function checksDigest(checks: readonly Check[]): string {
  return `sha256:${createHash('sha256').update(canonicalJson(checks)).digest('hex')}`;
}

/** Stores a list of checks among the records, which `slipway prune` never removes, or repairs it. Returns its digest. */
export async function keepChecks(
  store: Pick<ArtifactStore, 'getRecord' | 'putRecord' | 'url'>,
  checks: readonly Check[],
): Promise<string> {
  const digest = checksDigest(checks);
  const isKept = await readKeptChecks(store, digest).then(
    () => true,
    onSlipwayError(() => false, 'SLIPWAY_RECORD_UNREADABLE'),
  );
  if (!isKept) await store.putRecord(recordOf(digest), checks);
  return digest;
}

/** @throws SlipwayError SLIPWAY_RECORD_UNREADABLE if the store has no such list, or another one with its name. */
export async function readKeptChecks(
  store: Pick<ArtifactStore, 'getRecord' | 'url'>,
  digest: string,
): Promise<readonly Check[]> {
  const name = recordOf(digest);
  const checks = (await store.getRecord(name)) as readonly Check[] | undefined;
  if (checks !== undefined && checksDigest(checks) === digest) return checks;
  throw new SlipwayError(
    'SLIPWAY_RECORD_UNREADABLE',
    `the record ${name} ${checks === undefined ? 'is missing' : 'does not match its digest'}`,
    { place: store.url, hint: 'Restore it from a backup, or release the artifact again.' },
  );
}

/** No target's name begins like this, so that it cannot collide with a target's records. */
function recordOf(digest: string): string {
  return `_checks/${digest.slice('sha256:'.length)}.json`;
}

/** The name of the record with a target's state. No target's name begins like this. */
export function targetRecordName(workflowId: string): string {
  return `.targets/${createHash('sha256').update(workflowId).digest('hex')}.json`;
}

/** A target's state in its record store; `undefined` if it has none. */
export async function readTargetRecord(
  store: Pick<ArtifactStore, 'getRecord'>,
  workflowId: string,
): Promise<Kept | undefined> {
  return keptStateOf(await store.getRecord(targetRecordName(workflowId)));
}
