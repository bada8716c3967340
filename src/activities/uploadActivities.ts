import { Context } from '@temporalio/activity';

import { openArtifactStore } from '../artifact/artifactStore.ts';
import { type Activities } from './activities.ts';
import { type Connections } from './connections.ts';
import { type Untracked } from './track.ts';

/** Moves the artifact from the store to the control plane, as a stream. */
export function uploadActivities(connections: Connections): Untracked<Pick<Activities, 'uploadArtifact'>> {
  return {
    async uploadArtifact({ target, deploymentId, artifact }) {
      const context = Context.current();
      const signal = context.cancellationSignal;
      const store = openArtifactStore(artifact.store);
      // A damaged artifact is found before anything is sent.
      await store.verify(artifact.digest);
      const { stream, sizeBytes } = await store.open(artifact.digest);
      const client = connections.controlPlane(target);
      const uploadUrl = await client.createUploadUrl(deploymentId, { signal });
      await client.uploadArtifact(uploadUrl, {
        body: stream,
        sizeBytes,
        signal,
        onProgress: (sentBytes: number) => context.heartbeat({ sentBytes, sizeBytes }),
      });
      return { objectPath: uploadUrl.object_path };
    },
  };
}
