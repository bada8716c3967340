import type { ArtifactStore } from '../../../artifact/artifactStore.ts';
import type { ReleaseResult } from '../../../domain/release/release.ts';

/** The newest releases whose records are looked through. */
const RECORDS_READ = 50;

/**
 * What the records of a target's releases say of its revisions: whether each was verified. They outlive Temporal, and
 * are there without it. A revision whose release did not end well counts as not verified.
 *
 * @returns oldest first: what served before a release comes before what the release made.
 */
export async function recordedRevisions(
  store: ArtifactStore,
  target: string,
): Promise<ReadonlyMap<string, boolean>> {
  const verified = new Map<string, boolean>();
  // Their names begin with the time at which they started.
  const names = await store.listRecords(`${target}/`);
  for (const name of names.slice(-RECORDS_READ)) {
    const record = (await store.getRecord(name)) as Partial<ReleaseResult> | undefined;
    if (record === undefined) continue;
    const { baseline } = record;
    if (baseline?.revisionId != null && !verified.has(baseline.revisionId)) {
      verified.set(baseline.revisionId, baseline.verified);
    }
    for (const known of record.knownRevisions ?? []) verified.set(known.revisionId, known.verified);
    if (record.kind === 'release' && record.revisionId != null && record.outcome !== 'released') {
      verified.set(record.revisionId, false);
    }
  }
  return verified;
}
