import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

import type { PlatformSettings } from '@slipway/platform';

import {
  type ControlPlaneClient,
  createControlPlaneClient,
  createPlatformAccessClient,
  type PlatformAccessClient,
} from '../../../clients/controlPlane.ts';
import type { ServiceOptions } from '../../../clients/service.ts';
import { setting } from '../../../config/environment.ts';
import { SlipwayError } from '../../../domain/errors.ts';
import { isWithin } from '../../../domain/target/origin.ts';
import { serviceUrlProblem } from '../../../domain/target/targetSpec.ts';
import type { Machine } from '../../../inspection/deployment/deploymentAccess.ts';
import { readDevState } from '../../../temporal/server/devState.ts';
import { PORTS } from '../../usualPorts.ts';

export interface PlatformClientOptions {
  /** Its address. Default: see {@link runningPlatform}. */
  readonly url?: string;
  /** Default: the key's first tenant. */
  readonly tenant?: string;
  /** The platform's field names. The client uses the public names only if this is `public`. */
  readonly vocabulary?: PlatformSettings['vocabulary'];
}

/**
 * Calls the access API (keys, secrets, audit) of a running platform.
 * @throws SlipwayError SLIPWAY_SECRET_MISSING if there is no key to call it with, and the errors of the calls.
 */
export async function withPlatform<T>(
  machine: Machine,
  options: PlatformClientOptions,
  work: (client: PlatformAccessClient) => Promise<T>,
): Promise<T> {
  return closing(createPlatformAccessClient(await runningPlatform(machine, options)), work);
}

/**
 * Calls the control plane of a running platform. Only one process can own the database, so commands make changes
 * through the running platform.
 * @throws SlipwayError SLIPWAY_SECRET_MISSING if there is no key to call it with, and the errors of the calls.
 */
export async function withControlPlane<T>(
  machine: Machine,
  options: PlatformClientOptions,
  work: (client: ControlPlaneClient) => Promise<T>,
): Promise<T> {
  const service = await runningPlatform(machine, options);
  const vocabulary = options.vocabulary === 'public' ? 'public' : 'contract';
  return closing(createControlPlaneClient({ ...service, vocabulary, timeoutMs: 15_000 }), work);
}

async function closing<Client extends { close(): Promise<void> }, T>(
  client: Client,
  work: (client: Client) => Promise<T>,
): Promise<T> {
  try {
    return await work(client);
  } finally {
    await client.close();
  }
}

/**
 * Finds the platform of a home. The address: `url`, else `SLIPWAY_PLATFORM_URL`, else that of this home's `slipway
 * dev`, else the default port of `slipway platform` on this machine. The key: `SLIPWAY_PLATFORM_API_KEY`, else the
 * home's key file.
 * @throws SlipwayError SLIPWAY_USAGE for an invalid address, SLIPWAY_SECRET_MISSING if there is no key,
 * SLIPWAY_SECRET_REFUSED if the key was given for another address (design, rule 13).
 */
async function runningPlatform(
  { home, environment }: Machine,
  { url, tenant }: PlatformClientOptions,
): Promise<Pick<ServiceOptions, 'baseUrl' | 'apiKey' | 'headers'>> {
  const dev = await readDevState(home);
  const named = setting(environment, 'SLIPWAY_PLATFORM_URL');
  const baseUrl = url ?? named ?? dev?.controlPlane ?? `http://127.0.0.1:${PORTS.platform.preferred}`;
  const problem = serviceUrlProblem(baseUrl) ?? serviceUrlProblem(named ?? baseUrl);
  if (problem !== undefined)
    throw new SlipwayError('SLIPWAY_USAGE', `the platform's URL cannot be used: ${problem}`);
  const given = setting(environment, 'SLIPWAY_PLATFORM_API_KEY');
  // Without a known address, the home's platform may have any port of this machine.
  const isItsOwn =
    given === undefined
      ? isWithin(baseUrl, dev?.controlPlane ?? `http://127.0.0.1:${new URL(baseUrl).port}`)
      : isWithin(baseUrl, named ?? baseUrl);
  if (!isItsOwn) throw refusedKey(baseUrl, given === undefined ? 'this home' : 'SLIPWAY_PLATFORM_URL');
  return {
    baseUrl,
    apiKey: given ?? (await keyIn(dev?.apiKeyFile ?? join(home, 'api.key'))),
    headers: tenant === undefined ? undefined : { 'x-tenant-id': tenant },
  };
}

function refusedKey(url: string, owner: string): SlipwayError {
  const { origin } = new URL(url);
  const what = `the key of the platform of ${owner} must not be sent to ${origin}`;
  const hint = `set SLIPWAY_PLATFORM_URL=${origin} and SLIPWAY_PLATFORM_API_KEY, the key of that platform`;
  return new SlipwayError('SLIPWAY_SECRET_REFUSED', what, { place: origin, hint });
}

async function keyIn(file: string): Promise<string> {
  try {
    return (await readFile(file, 'utf8')).trim();
  } catch (error) {
    const what = "the platform's own API key was not found";
    const hint = 'name the home of the platform with --home, or set SLIPWAY_PLATFORM_API_KEY';
    throw new SlipwayError('SLIPWAY_SECRET_MISSING', what, { place: file, hint, cause: error });
  }
}
