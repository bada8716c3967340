import { writeComment } from '../../clients/notify/comments.ts';
import { secretFor } from '../../config/secretOrigins.ts';
import { SlipwayError } from '../../domain/errors.ts';
import { targetWorkflowId } from '../../domain/target/targetSpec.ts';
import { retireUpdate, viewQuery } from '../../messages/target.ts';
import type { Activities } from '../activities.ts';
import { askTemporal, ifThere } from '../askTemporal.ts';
import { callOptions, SHORT_CALL_MS } from '../callOptions.ts';
import type { Connections } from '../connections.ts';
import { openRun, releaseLock } from '../deployment/lockActivities.ts';
import type { Untracked } from '../track.ts';

/** Writes the comment of a preview. Resolves the token's reference only here, in the activity. */
export function commentActivities(connections: Connections): Untracked<Pick<Activities, 'writeComment'>> {
  return {
    async writeComment({ comment, pr, marker, body }) {
      const { kind, apiUrl, token, repository } = comment;
      if (repository === undefined) {
        throw new SlipwayError('SLIPWAY_CONFIG_INVALID', 'the repository of the pull request is unknown', {
          hint: 'set comment.repository under previews; neither CI nor the git remote "origin" names one',
        });
      }
      const of = { kind, apiUrl, repository, pr, token: secretFor(token, apiUrl) };
      return {
        detail: await writeComment(connections.receivers(), of, { marker, body }, callOptions(SHORT_CALL_MS)),
      };
    },
  };
}

export function previewActivities(): Untracked<Pick<Activities, 'endTarget'>> {
  return {
    endTarget: ({ target, deploymentId, isDeleted }) => {
      const targetId = targetWorkflowId(target);
      return askTemporal(async (client) => {
        const handle = client.workflow.getHandle(targetId);
        const { state } = (await ifThere(handle.query(viewQuery))) ?? {};
        if (isDeleted && (await openRun(client, targetId)) !== undefined)
          await ifThere(handle.executeUpdate(retireUpdate));
        for (const id of new Set([deploymentId, state?.owns]))
          if (id != null) await releaseLock(client, id, targetId);
        await ifThere(handle.terminate('its preview was removed'));
        return {};
      });
    },
  };
}
