import { Context } from '@temporalio/activity';

import { openArtifactStore } from '../../artifact/openArtifactStore.ts';
import type { Activities } from '../activities.ts';
import { callOptions } from '../callOptions.ts';
import type { Connections } from '../connections.ts';
import { reportProgress } from '../heartbeat.ts';
import type { Untracked } from '../track.ts';

/** Moves the artifact from the store to the control plane, as a stream. */
export function uploadActivities(connections: Connections): Untracked<Pick<Activities, 'uploadArtifact'>> {
  return {
    async uploadArtifact({ target, deploymentId, artifact }) {
      const context = Context.current();
      const store = openArtifactStore(artifact.store);
      // A damaged artifact is found before anything is sent.
      await store.verify(artifact.digest);
      const client = connections.controlPlane(target);
      const upload = await client.createUploadUrl(deploymentId, callOptions());
      const { stream, sizeBytes } = await store.open(artifact.digest);
      try {
        await client.uploadArtifact(
          {
            upload,
            source: () => stream,
            sizeBytes,
            onProgress: (sentBytes) => reportProgress(`sent ${sentBytes} of ${artifact.sizeBytes} bytes`),
          },
          { signal: context.cancellationSignal },
        );
      } finally {
        // An upload that ended before it began to read would leave the file open.
        stream.destroy();
      }
      return { objectPath: upload.object_path };
    },
  };
}
