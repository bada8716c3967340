import type { PlatformSettings } from '@slipway/platform';

import { type ControlPlaneClient, createControlPlaneClient } from '../../../clients/controlPlane.ts';
import { createPlatformAccessClient, type PlatformAccessClient } from '../../../clients/platformAccess.ts';
import type { ServiceOptions } from '../../../clients/service.ts';
import type { CommandContext } from '../../context.ts';
import { runningPlatform } from './runningPlatform.ts';

/** Which platform is called, and for which tenant. */
export interface PlatformClientOptions {
  /** Its address. Default: see {@link runningPlatform}. */
  readonly url?: string;
  /** Default: the key's first. */
  readonly tenant?: string;
  /** Whose names the platform speaks. Only one that speaks `public` alone is called in those. */
  readonly vocabulary?: PlatformSettings['vocabulary'];
}

type Context = Pick<CommandContext, 'home' | 'environment'>;

/**
 * Asks a running platform who may do what.
 * @throws SlipwayError SLIPWAY_SECRET_MISSING where there is no key to call it with, and what the calls throw.
 */
export async function withPlatform<T>(
  context: Context,
  options: PlatformClientOptions,
  work: (client: PlatformAccessClient) => Promise<T>,
): Promise<T> {
  return closing(createPlatformAccessClient(await serviceOf(context, options)), work);
}

/**
 * Calls the control plane of a running platform. A database has one owner, so what a command changes goes through the
 * platform that runs.
 * @throws SlipwayError SLIPWAY_SECRET_MISSING where there is no key to call it with, and what the calls throw.
 */
export async function withControlPlane<T>(
  context: Context,
  options: PlatformClientOptions,
  work: (client: ControlPlaneClient) => Promise<T>,
): Promise<T> {
  const service = await serviceOf(context, options);
  const vocabulary = options.vocabulary === 'public' ? 'public' : 'contract';
  return closing(createControlPlaneClient({ ...service, vocabulary, timeoutMs: 15_000 }), work);
}

async function serviceOf(
  context: Context,
  { url, tenant }: PlatformClientOptions,
): Promise<Pick<ServiceOptions, 'baseUrl' | 'apiKey' | 'headers'>> {
  return {
    ...(await runningPlatform(context, url)),
    headers: tenant === undefined ? undefined : { 'x-tenant-id': tenant },
  };
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
