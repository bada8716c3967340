import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { type ControlPlaneClient, createControlPlaneClient } from '../../clients/controlPlane.ts';
import { SlipwayError } from '../../domain/errors.ts';
import { readDevState } from '../../temporal/devState.ts';
import { type CommandContext } from '../context.ts';

/** Where a platform listens that was started without `--port`. */
const DEFAULT_URL = 'http://127.0.0.1:4700';

/** A platform that runs, and the key to call it with. */
export interface RunningPlatform {
  readonly baseUrl: string;
  readonly apiKey: string;
}

/**
 * Calls the platform of a home with its own key, see {@link runningPlatform}. A database has one owner, so what a command
 * changes goes through the platform that runs.
 * @throws SlipwayError SLIPWAY_SECRET_MISSING where there is no key; those of the client.
 */
export async function withRunningPlatform<T>(
  context: Pick<CommandContext, 'home' | 'environment'>,
  url: string | undefined,
  work: (client: ControlPlaneClient) => Promise<T>,
): Promise<T> {
  const client = createControlPlaneClient({ ...(await runningPlatform(context, url)), timeoutMs: 15_000 });
  try {
    return await work(client);
  } finally {
    await client.close();
  }
}

/**
 * Finds the platform of a home. The address: `url`, else `SLIPWAY_PLATFORM_URL`, else that of the `slipway dev` of this
 * home, else the port of `slipway platform` on this machine. The key: `SLIPWAY_PLATFORM_API_KEY`, else the one that the
 * home holds.
 * @throws SlipwayError SLIPWAY_SECRET_MISSING where there is no key.
 */
export async function runningPlatform(
  { home, environment }: Pick<CommandContext, 'home' | 'environment'>,
  url: string | undefined,
): Promise<RunningPlatform> {
  const dev = await readDevState(home);
  return {
    baseUrl: url ?? nonEmpty(environment['SLIPWAY_PLATFORM_URL']) ?? dev?.controlPlane ?? DEFAULT_URL,
    apiKey:
      nonEmpty(environment['SLIPWAY_PLATFORM_API_KEY']) ??
      (await keyIn(dev?.apiKeyFile ?? join(home, 'api.key'))),
  };
}

async function keyIn(file: string): Promise<string> {
  try {
    return (await readFile(file, 'utf8')).trim();
  } catch (error) {
    throw new SlipwayError('SLIPWAY_SECRET_MISSING', "the platform's own API key was not found", {
      place: file,
      hint: 'name the home of the platform with --home, or set SLIPWAY_PLATFORM_API_KEY',
      cause: error,
    });
  }
}

function nonEmpty(text: string | undefined): string | undefined {
  return text === '' ? undefined : text;
}
