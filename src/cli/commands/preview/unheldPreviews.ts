import type { Config } from '../../../config/configSchema.ts';
import { type ChosenPreview, withPreview } from '../../../config/previewSettings.ts';
import { SlipwayError } from '../../../domain/errors.ts';
import { deploymentOf, pullRequestOf, type UnheldPreview } from '../../../domain/preview/preview.ts';
import { withControlPlane } from '../../../inspection/deployment/deploymentAccess.ts';
import type { TemporalConnection } from '../../../temporal/client/connection.ts';
import { isHeld } from '../../../temporal/client/preview/previewClient.ts';
import type { CommandContext } from '../../context.ts';
import { chooseTargetSpec } from '../target/targetAccess.ts';

/**
 * Finds deployments named like previews of the file that have no workflow. Skips control planes that cannot list deployments,
 * with a note.
 */
export async function unheldPreviews(
  context: CommandContext,
  temporal: TemporalConnection,
  config: Config,
): Promise<readonly UnheldPreview[]> {
  const found: UnheldPreview[] = [];
  for (const [name, preview] of Object.entries(config.previews)) {
    for (const listed of await listedDeployments(context, config, { name, preview })) {
      const pr = pullRequestOf(preview.deployment, listed.deployment);
      if (pr === undefined) continue;
      const { spec } = await chooseTargetSpec(context, config, listed.deployment);
      if (!(await isHeld(temporal, spec))) found.push({ name, pr, ...listed });
    }
  }
  return found;
}

async function listedDeployments(
  context: CommandContext,
  config: Config,
  { name, preview }: ChosenPreview,
): Promise<readonly Pick<UnheldPreview, 'deployment' | 'deploymentId'>[]> {
  const { deployment: pattern } = preview;
  const any = withPreview(config, { name, preview }, 1);
  const { spec } = await chooseTargetSpec(context, any, deploymentOf(pattern, 1));
  const query = { name_contains: pattern.replace(/\{pr\}.*$/u, '') };
  try {
    return await withControlPlane(context, spec, async (client) => {
      const listed: Pick<UnheldPreview, 'deployment' | 'deploymentId'>[] = [];
      for await (const { id, name: deployment, status } of client.eachDeployment(query))
        if (status !== 'AWAITING_DELETE') listed.push({ deployment, deploymentId: id });
      return listed;
    });
  } catch (error) {
    if (!(error instanceof SlipwayError)) throw error;
    context.output.note(`skipping the previews "${name}": ${error.message}`);
    return [];
  }
}
