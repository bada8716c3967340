import { keepChecks, readKeptChecks } from '../../artifact/artifactStore.ts';
import { withDigests } from '../../domain/check/passedChecks.ts';
import type { ReleaseResult } from '../../domain/release/release.ts';
import type { Activities } from '../activities.ts';
import type { Outside } from '../connections.ts';
import type { Untracked } from '../track.ts';

/** Writes records, which outlive Temporal's retention, and reads the checks that a later restore needs. */
export function recordActivities(
  outside: Outside,
): Untracked<Pick<Activities, 'recordRelease' | 'readChecks'>> {
  return {
    async recordRelease({ store: url, result, passed }) {
      const location = recordName(result);
      const store = outside.openStore(url);
      const digests = await Promise.all(passed.map(({ checks }) => keepChecks(store, checks)));
      const knownRevisions = withDigests(result.knownRevisions, passed, digests);
      await store.putRecord(location, { ...result, knownRevisions });
      return { location, digests };
    },

    async readChecks({ store, digest }) {
      return { checks: await readKeptChecks(outside.openStore(store), digest) };
    },
  };
}

/** A record's name: by target and time. A release always has the same name. */
function recordName({ target, startedAt, releaseId }: ReleaseResult): string {
  const time = startedAt.replaceAll(/[:.]/g, '-');
  return `${target}/${time}-${releaseId}.json`;
}
