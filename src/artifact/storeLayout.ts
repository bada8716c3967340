import { SlipwayError } from '../domain/errors.ts';
import { isDigest } from './digest.ts';

/**
 * Where things are in an artifact store, whatever it is made of: paths relative to it, their segments separated by `/`.
 * A folder can be copied into a bucket as it is, and back.
 */

/** Below this, the artifacts: `<first two digits>/<digits>.tar.gz`. */
export const ARTIFACTS = 'artifacts/sha256/';
/** Below this, the records, by their escaped names. */
export const RECORDS = 'records/';

/**
 * Where an artifact is.
 *
 * @throws SlipwayError `SLIPWAY_ARTIFACT_NOT_FOUND` for what is no digest.
 */
export function artifactPath(digest: string): string {
  if (!isDigest(digest)) {
    throw new SlipwayError('SLIPWAY_ARTIFACT_NOT_FOUND', `"${digest}" is not the digest of an artifact`, {
      hint: 'A digest is sha256: and 64 hexadecimal digits.',
    });
  }
  const digits = digest.slice('sha256:'.length);
  return `${ARTIFACTS}${digits.slice(0, 2)}/${digits}.tar.gz`;
}

/** The digest of the artifact at a path; `undefined` where no artifact is. */
export function artifactDigest(path: string): string | undefined {
  const digits = /\/([0-9a-f]{64})\.tar\.gz$/.exec(path)?.[1];
  if (digits === undefined) return undefined;
  const digest = `sha256:${digits}`;
  return artifactPath(digest) === path ? digest : undefined;
}

/** Where a record is. Any name becomes a path inside the store: what could lead out of it, or be no file name, is escaped. */
export function recordPath(name: string): string {
  const segments = name.split('/');
  if (segments.some((segment) => segment === '' || segment === '.' || segment === '..')) {
    throw new TypeError(`"${name}" cannot name a record`);
  }
  return `${RECORDS}${segments.map(encodeURIComponent).join('/')}`;
}

/** The name of the record at a path. */
export function recordName(path: string): string {
  return path.slice(RECORDS.length).split('/').map(decodeURIComponent).join('/');
}
