import { createPlatformAccessClient, type PlatformAccessClient } from '../../clients/platformAccess.ts';
import { type CommandContext } from '../context.ts';
import { runningPlatform } from './runningPlatform.ts';

/** Which platform is called, and for which tenant. */
export interface PlatformClientOptions {
  /** Its address. Default: see {@link runningPlatform}. */
  readonly url?: string;
  /** Default: the key's first. */
  readonly tenant?: string;
}

/**
 * Asks a running platform who may do what.
 * @throws SlipwayError SLIPWAY_SECRET_MISSING where there is no key to call it with, and what the calls throw.
 */
export async function withPlatform<T>(
  context: CommandContext,
  { url, tenant }: PlatformClientOptions,
  work: (client: PlatformAccessClient) => Promise<T>,
): Promise<T> {
  const client = createPlatformAccessClient({
    ...(await runningPlatform(context, url)),
    ...(tenant === undefined ? {} : { headers: { 'x-tenant-id': tenant } }),
  });
  try {
    return await work(client);
  } finally {
    await client.close();
  }
}
