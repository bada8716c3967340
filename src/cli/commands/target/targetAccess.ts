import type { ArtifactStore } from '../../../artifact/artifactStore.ts';
import { chooseEntry } from '../../../config/chooseEntry.ts';
import type { Project } from '../../../config/loadConfig.ts';
import { withPreviewOf } from '../../../config/previewSettings.ts';
import { type ReleaseSettings, releaseSettings } from '../../../config/releaseSettings.ts';
import { onSlipwayError, SlipwayError } from '../../../domain/errors.ts';
import { type TargetSpec, targetWorkflowId } from '../../../domain/target/targetSpec.ts';
import {
  type Deployment,
  findDeployment,
  withControlPlane,
} from '../../../inspection/deployment/deploymentAccess.ts';
import type { CommandContext } from '../../context.ts';
import { retryBusy } from '../../retryBusy.ts';
import { artifactStoreOf } from '../artifact/artifactStoreOf.ts';

/** A target of `slipway.yaml`, with its deployment's name, which is part of its workflow id. */
export interface ChosenTarget {
  readonly name: string;
  readonly settings: ReleaseSettings;
  readonly spec: TargetSpec;
  readonly workflowId: string;
  /** Opens the store with the records of its releases, which outlive Temporal's retention. */
  readonly openStore: () => ArtifactStore;
}

/**
 * Chooses a target of the file, or that of a preview by its deployment's name. If the file has only the deployment's id, it
 * asks the control plane for the name.
 * @throws SlipwayError SLIPWAY_TARGET_UNKNOWN, SLIPWAY_USAGE; SLIPWAY_SECRET_MISSING and the control plane's errors if
 * it must be asked.
 */
export async function chooseTargetSpec(
  context: CommandContext,
  file: Project,
  wanted: string | undefined,
): Promise<ChosenTarget> {
  const config = withPreviewOf(file.config, wanted);
  const [name] = chooseEntry(config, 'targets', wanted);
  const settings = releaseSettings(config, name);
  const deployment = settings.target.deployment ?? (await readDeployment(context, settings.target)).name;
  const spec = { ...settings.target, deployment };
  const openStore = () => artifactStoreOf(file, context);
  return { name, settings, spec, workflowId: targetWorkflowId(spec), openStore };
}

/**
 * The named target as {@link chooseTargetSpec} does, or every target of the file whose deployment's name is known.
 * `problem`: why the first of the others is not. A command reports it after the targets.
 */
export async function chooseTargetSpecs(
  context: CommandContext,
  file: Project,
  wanted: string | undefined,
): Promise<{ readonly targets: readonly ChosenTarget[]; readonly problem: SlipwayError | undefined }> {
  if (wanted !== undefined)
    return { targets: [await chooseTargetSpec(context, file, wanted)], problem: undefined };
  const choose = (name: string) =>
    chooseTargetSpec(context, file, name).catch(onSlipwayError((error) => error));
  const chosen = await Promise.all(Object.keys(file.config.targets).map(choose));
  return {
    targets: chosen.flatMap((each) => (each instanceof SlipwayError ? [] : [each])),
    problem: chosen.find((each) => each instanceof SlipwayError),
  };
}

/** A target's deployment. A busy control plane is asked again. @throws as {@link findDeployment}. */
export function readDeployment(
  context: CommandContext,
  target: Parameters<typeof withControlPlane>[1] & Parameters<typeof findDeployment>[1],
  signal?: AbortSignal,
): Promise<Deployment> {
  const find = () => withControlPlane(context, target, (client) => findDeployment(client, target));
  return retryBusy(context, find, signal);
}
