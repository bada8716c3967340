import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { SlipwayError } from '../../../domain/errors.ts';
import { readDevState } from '../../../temporal/server/devState.ts';
import type { CommandContext } from '../../context.ts';

/** Where a platform listens that was started without `--port`. */
const DEFAULT_URL = 'http://127.0.0.1:4700';

/** A platform that runs, and the key to call it with. */
export interface RunningPlatform {
  readonly baseUrl: string;
  readonly apiKey: string;
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
