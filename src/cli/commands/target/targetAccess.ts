import { readFile } from 'node:fs/promises';

import type { ControlPlaneClient } from '../../../clients/controlPlane.ts';
import type { CallOptions } from '../../../clients/service.ts';
import type { Config } from '../../../config/configSchema.ts';
import { chooseTarget, type ReleaseSettings, releaseSettings } from '../../../config/releaseSettings.ts';
import { knownSecrets, resolveSecret } from '../../../config/secretReference.ts';
import { SlipwayError } from '../../../domain/errors.ts';
import { type SecretReference, type TargetSpec, tenantHeaders } from '../../../domain/target/targetSpec.ts';
import { type DevState, readDevState } from '../../../temporal/server/devState.ts';
import type { CommandContext } from '../../context.ts';

/** A deployment as the control plane tells it. */
export type Deployment = Awaited<ReturnType<ControlPlaneClient['getDeployment']>>;

/** A target of `slipway.yaml`, with its deployment's name: what its workflow's id is made from. */
export interface ChosenTarget {
  readonly name: string;
  readonly settings: ReleaseSettings;
  readonly spec: TargetSpec;
}

/**
 * Chooses a target of the file. Where it gives the deployment by id alone, the control plane is asked for the name.
 *
 * @throws SlipwayError SLIPWAY_TARGET_UNKNOWN, SLIPWAY_USAGE; SLIPWAY_SECRET_MISSING and the control plane's own where
 * it must be asked.
 */
export async function chooseTargetSpec(
  context: CommandContext,
  config: Config,
  wanted: string | undefined,
): Promise<ChosenTarget> {
  const name = chooseTarget(config, wanted);
  const settings = releaseSettings(config, name);
  const deployment = settings.target.deployment ?? (await deploymentName(context, settings));
  return { name, settings, spec: { ...settings.target, deployment } };
}

/**
 * Calls a target's control plane from this process.
 *
 * @throws SlipwayError SLIPWAY_SECRET_MISSING where the key is not to be had here.
 */
export async function withControlPlane<T>(
  context: CommandContext,
  target: Pick<TargetSpec, 'controlPlane' | 'apiKey' | 'tenantId' | 'vocabulary' | 'secrets'>,
  work: (client: ControlPlaneClient) => Promise<T>,
): Promise<T> {
  const apiKey = await keyOf(context, target.controlPlane, target.apiKey);
  const { controlPlane: baseUrl, vocabulary = 'contract' } = target;
  // Loaded where it is needed: the client and the contract are a quarter of what a command loads that asks Temporal alone.
  const { createControlPlaneClient } = await import('../../../clients/controlPlane.ts');
  const client = createControlPlaneClient({
    baseUrl,
    apiKey,
    headers: tenantHeaders(target),
    vocabulary,
    secrets: knownSecrets(target, context.environment),
    timeoutMs: 15_000,
  });
  try {
    return await work(client);
  } finally {
    await client.close();
  }
}

/**
 * A target's deployment, by its id or its name.
 *
 * @throws SlipwayError SLIPWAY_NOT_FOUND, and the control plane's own.
 */
export async function findDeployment(
  client: ControlPlaneClient,
  target: TargetSpec,
  call: CallOptions = {},
): Promise<Deployment> {
  if (target.deploymentId !== undefined) return client.getDeployment(target.deploymentId, call);
  for await (const candidate of client.eachDeployment({ name_contains: target.deployment }, call)) {
    if (candidate.name === target.deployment) return candidate;
  }
  throw new SlipwayError('SLIPWAY_NOT_FOUND', `there is no deployment "${target.deployment}"`, {
    place: target.controlPlane,
    hint: `check targets.${target.name} in slipway.yaml`,
  });
}

/**
 * The secret behind a reference, as this process has it. The key of the control plane that `slipway dev` runs in this
 * home is known without setting it: `env:SLIPWAY_API_KEY` leads to it as it does in dev's own worker.
 */
async function keyOf(
  { home, environment }: CommandContext,
  controlPlane: string,
  reference: SecretReference,
): Promise<string> {
  const dev = await readDevState(home);
  if (dev !== undefined && isKeyOfDev(dev, controlPlane, reference, environment)) {
    return (await readFile(dev.apiKeyFile, 'utf8')).trim();
  }
  try {
    return resolveSecret(reference, environment);
  } catch (error) {
    if (!(error instanceof SlipwayError)) throw error;
    throw new SlipwayError(error.code, error.message, {
      place: reference.from,
      hint: `set it here: this command calls ${controlPlane} itself`,
      cause: error,
    });
  }
}

function isKeyOfDev(
  dev: DevState,
  controlPlane: string,
  { from }: SecretReference,
  environment: CommandContext['environment'],
): boolean {
  const unset = (environment['SLIPWAY_API_KEY'] ?? '') === '';
  return (
    from === 'env:SLIPWAY_API_KEY' &&
    unset &&
    new URL(dev.controlPlane).origin === new URL(controlPlane).origin
  );
}

async function deploymentName(context: CommandContext, { target }: ReleaseSettings): Promise<string> {
  const { deploymentId = '' } = target;
  const deployment = await withControlPlane(context, target, (client) => client.getDeployment(deploymentId));
  return deployment.name;
}
