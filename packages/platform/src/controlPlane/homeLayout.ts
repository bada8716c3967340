import { randomUUID } from 'node:crypto';
import { mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join, relative, resolve, sep } from 'node:path';

import { undefinedIfMissing } from '../errors.ts';

/** The paths in a platform's home. */
export type HomeLayout = ReturnType<typeof homeLayout>;

/** The paths under a home directory; creates nothing. */
export function homeLayout(home: string) {
  const root = resolve(home);
  const objects = join(root, 'objects');
  const builds = join(root, 'builds');
  const scratches = join(root, 'scratch');
  return {
    root,
    /** Uploaded objects: a folder per deployment, a file per object. */
    objects: join(objects, 'tarballs'),
    objectsOf: (deploymentId: string): string => resolveInside(objects, join('tarballs', deploymentId)),
    object: (objectPath: string): string => resolveInside(objects, objectPath),
    incoming: join(root, 'incoming'),
    /** Builds: a folder per deployment, and in it a folder per revision, the workspace of its build. */
    builds,
    buildsOf: (deploymentId: string): string => join(builds, deploymentId),
    build: (deploymentId: string, revisionId: string): string => join(builds, deploymentId, revisionId),
    /** Temporary files of work in progress; removed when the work ends. */
    scratches,
    scratch: (name: string): string => join(scratches, name),
    /** Files that no row of the database knows, until they are old enough to be deleted. */
    trash: join(root, 'trash'),
    /** The id that this home shares with its database. */
    instanceId: join(root, 'instance.id'),
    /** The ssh host keys of known repositories. */
    knownHosts: join(root, 'known_hosts'),
    /** The builder's cache for a tenant. A build can influence what is in it. */
    cacheOf: (tenantId: string): string => join(root, 'cache', tenantId),
  };
}

/** The paths in all of a directory's folders, which are one per deployment. */
export async function listPerDeployment(directory: string): Promise<string[]> {
  const found: string[] = [];
  for (const deployment of await listNames(directory)) {
    for (const name of await listNames(join(directory, deployment)))
      found.push(join(directory, deployment, name));
  }
  return found;
}

export async function pathExists(path: string): Promise<boolean> {
  return (await stat(path).catch(undefinedIfMissing)) !== undefined;
}

/** The names in a directory; none if it does not exist. */
export async function listNames(directory: string): Promise<string[]> {
  return (await readdir(directory).catch(undefinedIfMissing)) ?? [];
}

/** The platform makes the object paths itself; this also protects against a manipulated row. */
function resolveInside(directory: string, path: string): string {
  const full = resolve(directory, path);
  if (!full.startsWith(directory + sep)) throw new Error('An object path leads out of its directory.');
  return full;
}

/** Does work with a temporary folder (mode 0700) whose name begins with `name`, and removes it afterwards. */
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

/** Removes a folder. A killed command may still write for a moment, so removal is retried. */
export async function removeTree(path: string): Promise<void> {
  await rm(path, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
}

/** How long the trash keeps files, in days. */
export const TRASH_RETENTION_DAYS = 7;

/** Moves a file or folder to `<home>/trash/<time>/`, from where it can be moved back for a restored database. */
export async function moveToTrash(home: HomeLayout, path: string): Promise<void> {
  const time = new Date().toISOString().replaceAll(/[:.]/gu, '-');
  const to = join(home.trash, time, relative(home.root, path));
  await mkdir(dirname(to), { recursive: true, mode: 0o700 });
  await rename(path, to);
}

/** Deletes what was in the trash for {@link TRASH_RETENTION_DAYS}. */
export async function emptyTrash(home: HomeLayout): Promise<void> {
  const oldest = Date.now() - TRASH_RETENTION_DAYS * 86_400_000;
  for (const name of await listNames(home.trash)) {
    const time = Date.parse(name.replace(/T(\d\d)-(\d\d)-(\d\d)-/u, 'T$1:$2:$3.'));
    if (time < oldest) await rm(join(home.trash, name), { recursive: true, force: true });
  }
}
