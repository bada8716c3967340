import { openArtifactStore } from '../artifact/artifactStore.ts';
import type { ReleaseResult } from '../domain/release.ts';
import type { Activities } from './activities.ts';
import type { Untracked } from './track.ts';

/** Writes records, which outlive Temporal's retention. */
export function recordActivities(): Untracked<Pick<Activities, 'recordRelease'>> {
  return {
    async recordRelease({ store, result }) {
      const location = recordName(result);
      await openArtifactStore(store).putRecord(location, result);
      return { location };
    },
  };
}

/** A record's name: by target, in the order of time. The same release always has the same. */
function recordName({ target, startedAt, releaseId }: ReleaseResult): string {
  const time = startedAt.replaceAll(/[:.]/g, '-');
  return `${target}/${time}-${releaseId}.json`;
}
