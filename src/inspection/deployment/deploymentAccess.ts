import { readFile } from 'node:fs/promises';

import type { ControlPlaneClient } from '../../clients/controlPlane.ts';
import type { CallOptions } from '../../clients/exchange.ts';
import { isDeploymentGone, ServiceError } from '../../clients/serviceError.ts';
import { knownSecrets } from '../../config/secretReference.ts';
import { onSlipwayError, SlipwayError } from '../../domain/errors.ts';
import {
  mayHaveKey,
  type SecretReference,
  type TargetSpec,
  tenantHeaders,
} from '../../domain/target/targetSpec.ts';
import { pause } from '../../temporal/client/pause.ts';
import { type DevState, readDevState } from '../../temporal/server/devState.ts';

/** What this machine knows of control planes and their keys. */
export interface Machine {
  /** The folder of Slipway's state, also of a `slipway dev`: an absolute path. */
  readonly home: string;
  /** Where references to keys are resolved: `env:NAME`. */
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** A deployment as the control plane describes it. */
export type Deployment = Awaited<ReturnType<ControlPlaneClient['getDeployment']>>;

/**
 * Calls a target's control plane from this process.
 * @throws SlipwayError SLIPWAY_SECRET_MISSING if this process does not have the key, SLIPWAY_SECRET_REFUSED if it
 * must not send it.
 */
export async function withControlPlane<T>(
  machine: Machine,
  target: Called & Pick<TargetSpec, 'apiKey' | 'tenantId' | 'vocabulary' | 'secrets'>,
  work: (client: ControlPlaneClient) => Promise<T>,
): Promise<T> {
  const apiKey = await keyOf(machine, target, target.apiKey, target.controlPlane);
  const { controlPlane: baseUrl, vocabulary = 'contract' } = target;
  // Loaded lazily: the client and the contract are a quarter of what a command loads that only calls Temporal.
  const { createControlPlaneClient } = await import('../../clients/controlPlane.ts');
  const client = createControlPlaneClient({
    baseUrl,
    apiKey,
    headers: tenantHeaders(target),
    vocabulary,
    secrets: knownSecrets(target, machine.environment),
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
 * @throws SlipwayError SLIPWAY_NOT_FOUND, and the control plane's errors.
 */
export async function findDeployment(
  client: ControlPlaneClient,
  target: Pick<TargetSpec, 'name' | 'controlPlane' | 'deploymentId'> & { readonly deployment?: string },
  call: CallOptions = {},
): Promise<Deployment> {
  const { name, controlPlane: place, deployment, deploymentId } = target;
  if (deploymentId !== undefined) {
    return client.getDeployment(deploymentId, call).catch((error: unknown) => {
      if (!isDeploymentGone(error, deploymentId)) throw error;
      const hint = `if it was deleted, replace targets.${name}.deploymentId by a deployment's name, then: slipway release ${name}`;
      throw new SlipwayError('SLIPWAY_NOT_FOUND', `there is no deployment ${deploymentId}`, { place, hint });
    });
  }
  const found = deployment === undefined ? undefined : await client.deploymentNamed(deployment, call);
  if (found !== undefined) return found;
  const hint = `check targets.${name} in slipway.yaml`;
  throw new SlipwayError('SLIPWAY_NOT_FOUND', `there is no deployment "${deployment}"`, { place, hint });
}

/**
 * The key for a target's agent at an address; `undefined` if the target has none that may be sent there.
 * @throws SlipwayError SLIPWAY_SECRET_MISSING, SLIPWAY_SECRET_REFUSED.
 */
export async function agentKey(
  machine: Machine,
  target: Called & Pick<TargetSpec, 'apiKey' | 'agentApiKey'>,
  agentUrl: string,
): Promise<string | undefined> {
  const reference = target.agentApiKey ?? (mayHaveKey(target, agentUrl) ? target.apiKey : undefined);
  return reference === undefined ? undefined : keyOf(machine, target, reference, agentUrl);
}

/** What decides where a target's keys may be sent. */
type Called = Parameters<typeof mayHaveKey>[0];

/**
 * The secret behind a reference, to be sent to `url`. The key of the control plane of a `slipway dev` in this home need
 * not be set: `env:SLIPWAY_API_KEY` resolves to it, as in dev's own worker, but not for an address that only the control
 * plane names.
 */
async function keyOf(
  { home, environment }: Machine,
  target: Called,
  reference: SecretReference,
  url: string,
): Promise<string> {
  const dev = await readDevState(home);
  const isOfDev =
    dev !== undefined && isKeyOfDev(dev, target, reference, environment) && mayHaveKey(target, url);
  const known = isOfDev
    ? { ...environment, SLIPWAY_API_KEY: (await readFile(dev.apiKeyFile, 'utf8')).trim() }
    : environment;
  // Loaded lazily, like the client.
  const { secretFor } = await import('../../config/secretOrigins.ts');
  try {
    return secretFor(reference, url, { environment: known });
  } catch (error) {
    if (!(error instanceof SlipwayError) || error.code !== 'SLIPWAY_SECRET_MISSING') throw error;
    const hint = `set ${reference.from} here: this process calls ${url} itself`;
    throw new SlipwayError(error.code, error.message, { place: reference.from, hint, cause: error });
  }
}

function isKeyOfDev(
  dev: DevState,
  { controlPlane }: Called,
  { from }: SecretReference,
  environment: Machine['environment'],
): boolean {
  const unset = (environment['SLIPWAY_API_KEY'] ?? '') === '';
  return (
    from === 'env:SLIPWAY_API_KEY' &&
    unset &&
    new URL(dev.controlPlane).origin === new URL(controlPlane).origin
  );
}

/** A deployment as the control plane describes it. */
export interface DeploymentSeen {
  readonly deploymentId: string;
  /** The revision that serves. `null`: none. */
  readonly activeRevisionId: string | null;
  /** The newest revision, which may not be the one that serves. */
  readonly latestRevisionId: string | null;
}

/** Reads a target's deployment from the control plane; a sentence if that is not possible from here. */
export function seeDeployment(machine: Machine, spec: TargetSpec): Promise<DeploymentSeen | string> {
  return withControlPlane(machine, spec, async (client) => {
    const { id, active_revision_id, latest_revision_id } = await findDeployment(client, spec);
    return {
      deploymentId: id,
      activeRevisionId: active_revision_id ?? null,
      latestRevisionId: latest_revision_id ?? null,
    };
  }).catch(onSlipwayError(({ message }) => message));
}

/** The limit for this read, in milliseconds. After that the worker reads it instead. */
const READ_MS = 2_000;
const READ_AGAIN_MS = 200;

/** The active revision, which the person wants to leave; `undefined`: none, no key, or no answer in time. */
export function readWhatServes(machine: Machine, target: TargetSpec): Promise<string | undefined> {
  const signal = AbortSignal.timeout(READ_MS);
  return withControlPlane(machine, target, async (client) => {
    for (;;) {
      try {
        const { active_revision_id: active } = await findDeployment(client, target, { signal });
        return active ?? undefined;
      } catch (error) {
        // Just after a restore, a rollback that does not name what it leaves changes nothing.
        if (signal.aborted || !mayWorkAgain(error)) throw error;
        await pause(READ_AGAIN_MS, signal);
      }
    }
  }).catch(onSlipwayError(() => undefined));
}

function mayWorkAgain(error: unknown): boolean {
  return error instanceof ServiceError && (error.status ?? 500) >= 500;
}
