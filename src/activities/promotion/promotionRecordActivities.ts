import type { Activities } from '../activities.ts';
import type { Outside } from '../connections.ts';
import type { Untracked } from '../track.ts';

/** A promotion's calls to the artifact store. */
export function promotionRecordActivities(
  outside: Outside,
): Untracked<Pick<Activities, 'findArtifact' | 'recordPromotion'>> {
  return {
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
