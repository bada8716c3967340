import { chmod, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { z } from 'zod';

import { SlipwayError } from '../../domain/errors.ts';
import { parsedJson } from '../../domain/scalars.ts';

/** What `slipway dev` writes for commands beside it: addresses and the path of the key's file, but never the key. */
const DevState = z.object({
  pid: z.number(),
  /** ISO 8601. */
  startedAt: z.string(),
  temporal: z.object({
    /** `host:port`. */
    address: z.string(),
    namespace: z.string(),
    /** The base URL of Temporal's UI; `null` if not known. */
    ui: z.string().nullable(),
  }),
  controlPlane: z.string(),
  dashboard: z.string(),
  apiKeyFile: z.string(),
  taskQueue: z.string(),
});
export type DevState = Readonly<z.infer<typeof DevState>>;

const DEV_STATE_FILE = 'dev.json';

/**
 * Reads the state of a running `slipway dev` from a home; `undefined` if none runs there.
 * @throws SlipwayError SLIPWAY_CONFIG_INVALID if `slipway dev` did not write the file.
 */
export async function readDevState(home: string): Promise<DevState | undefined> {
  const file = join(home, DEV_STATE_FILE);
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    const why = (error as Error).message;
    throw new SlipwayError('SLIPWAY_CONFIG_INVALID', `the state of "slipway dev" could not be read: ${why}`, {
      place: file,
      hint: 'run as the user of "slipway dev", or choose another folder with --home or SLIPWAY_HOME',
      cause: error,
    });
  }
  const state = DevState.safeParse(parsedJson(text)).data;
  if (state === undefined) {
    throw new SlipwayError('SLIPWAY_CONFIG_INVALID', `${file} was not written by "slipway dev"`, {
      place: file,
      hint: 'remove the file, or start "slipway dev" again',
    });
  }
  return isAlive(state.pid) ? state : undefined;
}

export async function writeDevState(home: string, state: DevState): Promise<void> {
  const file = join(home, DEV_STATE_FILE);
  const written = `${file}.${process.pid}`;
  await writeFile(written, `${JSON.stringify(state, null, 2)}\n`, { mode: 0o600 });
  await chmod(written, 0o600);
  await rename(written, file);
}

export async function removeDevState(home: string): Promise<void> {
  await rm(join(home, DEV_STATE_FILE), { force: true });
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
