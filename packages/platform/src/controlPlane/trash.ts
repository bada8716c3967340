import { mkdir, rename, rm } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';

import { type HomeLayout, namesIn } from './homeLayout.ts';

/** How long the trash keeps what was moved to it, in days. */
export const TRASH_KEPT_DAYS = 7;

/**
 * Moves a file or folder of the home to `<home>/trash/<time>/`, under the path that it had. A database that was restored
 * from a backup does not know the newest sources and builds: moving them back is all it takes to have them again.
 */
export async function moveToTrash(home: HomeLayout, path: string): Promise<void> {
  const time = new Date().toISOString().replaceAll(/[:.]/gu, '-');
  const to = join(home.trash, time, relative(home.root, path));
  await mkdir(dirname(to), { recursive: true, mode: 0o700 });
  await rename(path, to);
}

/** Deletes what has been in the trash for {@link TRASH_KEPT_DAYS}. */
export async function emptyTrash(home: HomeLayout): Promise<void> {
  const oldest = Date.now() - TRASH_KEPT_DAYS * 86_400_000;
  for (const name of await namesIn(home.trash)) {
    const time = Date.parse(name.replace(/T(\d\d)-(\d\d)-(\d\d)-/u, 'T$1:$2:$3.'));
    if (time < oldest) await rm(join(home.trash, name), { recursive: true, force: true });
  }
}
