import { randomUUID } from 'node:crypto';
import { access, mkdir, readdir, rename, rm } from 'node:fs/promises';
import { dirname, join, relative, resolve, sep } from 'node:path';

/** Where things lie in a platform's home. */
export type HomeLayout = ReturnType<typeof homeLayout>;

/** The layout under a home directory; nothing is created. */
export function homeLayout(home: string) {
  const root = resolve(home);
  const objects = join(root, 'objects');
  const builds = join(root, 'builds');
  const scratches = join(root, 'scratch');
  return {
    root,
    /** Uploaded objects: a folder per deployment, a file per object. */
    objects: join(objects, 'tarballs'),
    objectsOf: (deploymentId: string): string => within(objects, join('tarballs', deploymentId)),
    /** The file of an uploaded object. */
    object: (objectPath: string): string => within(objects, objectPath),
    /** Uploads that are not complete yet. */
    incoming: join(root, 'incoming'),
    /** Builds: a folder per deployment, a folder per revision, which is its build's workspace. */
    builds,
    buildsOf: (deploymentId: string): string => join(builds, deploymentId),
    build: (deploymentId: string, revisionId: string): string => join(builds, deploymentId, revisionId),
    /** What work on one thing writes beside its result; removed when the work has ended. */
    scratches,
    scratch: (name: string): string => join(scratches, name),
    /** What no row of the database knows, until it is old enough to be deleted. */
    trash: join(root, 'trash'),
    /** The id that this home shares with its database. */
    instanceId: join(root, 'instance.id'),
    /** The ssh host keys of repositories that were seen. */
    knownHosts: join(root, 'known_hosts'),
    /** The builder's cache, shared by all builds. */
    cache: join(root, 'cache'),
  };
}

/** The paths of all that lies in the folders of a directory that has one per deployment. */
export async function perDeployment(directory: string): Promise<string[]> {
  const found: string[] = [];
  for (const deployment of await namesIn(directory)) {
    for (const name of await namesIn(join(directory, deployment)))
      found.push(join(directory, deployment, name));
  }
  return found;
}

/** Whether there is anything at a path. */
export async function isThere(path: string): Promise<boolean> {
  try {
    await access(path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}

/** The names in a directory; none if there is no such directory. */
async function namesIn(directory: string): Promise<string[]> {
  try {
    return await readdir(directory);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

/** Object paths are made by the platform itself; this holds even where a row was tampered with. */
function within(directory: string, path: string): string {
  const full = resolve(directory, path);
  if (!full.startsWith(directory + sep)) throw new Error('An object path leads out of its directory.');
  return full;
}

/**
 * Does work that writes beside its result, in a folder of mode 0700 that no other work has, and removes the folder when
 * the work has ended, however it did.
 * @param name What the folder's name begins with.
 */
export async function withScratch<T>(
  home: HomeLayout,
  name: string,
  work: (scratch: string) => Promise<T>,
): Promise<T> {
  const scratch = home.scratch(`${name}-${randomUUID()}`);
  await mkdir(scratch, { recursive: true, mode: 0o700 });
  try {
    return await work(scratch);
  } finally {
    await removeTree(scratch);
  }
}

/** Removes what an earlier process of this home was at when it ended. Call it before anything is at work. */
export async function removeScratches(home: HomeLayout): Promise<void> {
  await removeTree(home.scratches);
}

/** A command that was killed may take a moment to end, and write until then: what it wrote is removed too. */
async function removeTree(path: string): Promise<void> {
  await rm(path, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
}

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
