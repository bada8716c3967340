import { Context } from '@temporalio/activity';

import { keepChecks, readKeptChecks } from '../../artifact/artifactStore.ts';
import { datasetDigests } from '../../domain/check/dataset.ts';
import { withDigests } from '../../domain/check/passedChecks.ts';
import type { ReleaseRecord, ReleaseResult } from '../../domain/release/release.ts';
import type { Activities } from '../activities.ts';
import type { Outside } from '../connections.ts';
import type { Untracked } from '../track.ts';

/** Writes records, which outlive Temporal's retention, and reads the checks that a later restore needs. */
export function recordActivities(
  outside: Outside,
): Untracked<Pick<Activities, 'recordRelease' | 'readChecks' | 'findDatasets'>> {
  return {
    async recordRelease({ store: url, result, passed }) {
      const location = recordName(result);
      const store = outside.openStore(url);
      const digests = await Promise.all(passed.map(({ checks }) => keepChecks(store, checks)));
      const knownRevisions = withDigests(result.knownRevisions, passed, digests);
      // Targets of several projects may have the same name and one store.
      const workflowId = Context.current().info.workflowExecution?.workflowId;
      await store.putRecord(location, { ...result, knownRevisions, workflowId } satisfies ReleaseRecord);
      return { location, digests };
    },

    async readChecks({ store: url, digest }) {
      const store = outside.openStore(url);
      const checks = await readKeptChecks(store, digest);
      for (const dataset of datasetDigests(checks)) await store.verify(dataset);
      return { checks };
    },

    async findDatasets({ store: url, digests }) {
      const store = outside.openStore(url);
      for (const digest of digests) await store.verify(digest);
      return {};
    },
  };
}

/** A record's name: by target and time. A release always has the same name. */
function recordName({ target, startedAt, releaseId }: ReleaseResult): string {
  const time = startedAt.replaceAll(/[:.]/g, '-');
  return `${target}/${time}-${releaseId}.json`;
}
