import { constants } from 'node:fs';
import { cp, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { inject } from 'vitest';

/** A home of its own with an empty embedded database in it: making one anew takes seconds, copying it does not. */
export async function preparedHome(prefix: string): Promise<string> {
  const home = await mkdtemp(join(tmpdir(), prefix));
  await prepareHome(home);
  return home;
}

/** Puts an empty embedded database into a home that has none. */
export async function prepareHome(home: string): Promise<void> {
  // Provided by the project `unit` alone, whatever the type says.
  const cluster = inject('preparedCluster') as string | undefined;
  if (cluster === undefined) return;
  await cp(cluster, join(home, 'postgres'), { recursive: true, mode: constants.COPYFILE_FICLONE });
}
