import type { ArtifactStore } from '../../../artifact/artifactStore.ts';
import type { RecordedRelease } from '../../../domain/artifact/retention.ts';
import { SlipwayError } from '../../../domain/errors.ts';
import type { ReleaseResult } from '../../../domain/release/release.ts';

/** How many records are read at once. */
const AT_ONCE = 16;
/** `TARGET/TIME-RELEASE.json`: no target's name begins otherwise; what others keep beside them is in other folders. */
const OF_A_RELEASE = /^[A-Za-z0-9][^/]*\/[^/]+\.json$/;

/**
 * The releases of tarballs that a store's records tell of, in no order.
 *
 * @throws SlipwayError SLIPWAY_RECORD_UNREADABLE: what it does not tell may be what has to be kept.
 */
export async function recordedReleases(store: ArtifactStore): Promise<readonly RecordedRelease[]> {
  const waiting = (await store.listRecords()).filter((name) => OF_A_RELEASE.test(name));
  const found: RecordedRelease[] = [];
  const lane = async (): Promise<void> => {
    for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
      found.push(...(await readRelease(store, name)));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, lane));
  return found;
}

/** None where the record is of a rollback, an image, a git ref, or nothing that was shipped; or is not there any more. */
async function readRelease(store: ArtifactStore, name: string): Promise<readonly RecordedRelease[]> {
  const record = await recordOf(store, name);
  if (record === undefined) return [];
  const { target, releaseId, artifact, outcome, endedAt } = record;
  if (artifact === null) return [];
  if (![target, releaseId, artifact, outcome, endedAt].every((field) => typeof field === 'string')) {
    throw unreadable(name, store.url);
  }
  if (!artifact.startsWith('sha256:')) return [];
  return [{ target, releaseId, artifact, released: outcome === 'released', endedAt }];
}

async function recordOf(store: ArtifactStore, name: string): Promise<ReleaseResult | undefined> {
  try {
    const record = await store.getRecord(name);
    if (typeof record === 'object' && record !== null) return record as ReleaseResult;
    if (record === undefined) return undefined;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  throw unreadable(name, store.url);
}

function unreadable(name: string, place: string): SlipwayError {
  return new SlipwayError('SLIPWAY_RECORD_UNREADABLE', `the record ${name} is not the record of a release`, {
    place,
    hint: 'Restore the file from a backup, or move it out of the store.',
  });
}
