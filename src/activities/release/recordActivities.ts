import { keepChecks, readKeptChecks } from '../../artifact/artifactStore.ts';
import { datasetDigests } from '../../domain/check/dataset.ts';
import { withDigests } from '../../domain/check/passedChecks.ts';
import type { ReleaseRecord, ReleaseResult } from '../../domain/release/release.ts';
import type { Activities } from '../activities.ts';
import { callingWorkflow } from '../callingWorkflow.ts';
import type { Outside } from '../connections.ts';
import type { Untracked } from '../track.ts';

/** Writes records, which outlive Temporal's retention, and reads the checks that a later restore needs. */
export function recordActivities(
  outside: Outside,
): Untracked<
  Pick<Activities, 'recordRelease' | 'readChecks' | 'findDatasets' | 'findArtifact' | 'recordPromotion'>
> {
  return {
    async recordRelease({ store: url, result, passed }) {
      const location = recordName(result);
      const store = outside.openStore(url);
      const digests = await Promise.all(passed.map(({ checks }) => keepChecks(store, checks)));
      const knownRevisions = withDigests(result.knownRevisions, passed, digests);
      // Targets of several projects may have the same name and one store.
      const { workflowId } = callingWorkflow();
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

    async findArtifact({ store, artifact }) {
      // Images are in a registry: a missing one is found when it is pulled.
      if (!artifact.startsWith('sha256:')) return { sizeBytes: 0 };
      const { stream, sizeBytes } = await outside.openStore(store).open(artifact);
      stream.destroy();
      return { sizeBytes };
    },

    async recordPromotion({ store, result, runId }) {
      const time = result.startedAt.replaceAll(/[:.]/g, '-');
      // No target's name begins like this, so that it cannot collide with a target's records.
      const location = `_promotions/${result.promotion}/${time}-${runId}.json`;
      await outside.openStore(store).putRecord(location, result);
      return { location };
    },
  };
}

/** A record's name: by target and time. A release always has the same name. */
function recordName({ target, startedAt, releaseId }: ReleaseResult): string {
  const time = startedAt.replaceAll(/[:.]/g, '-');
  return `${target}/${time}-${releaseId}.json`;
}
