import { access, readdir } from 'node:fs/promises';
import { join, resolve, sep } from 'node:path';

/** Where things lie in a platform's home. */
export interface HomeLayout {
  readonly root: string;
  /** Uploaded objects: a folder per deployment, a file per object. */
  readonly objects: string;
  /** Builds: a folder per deployment, a folder per revision. */
  readonly builds: string;
  /** The file of an uploaded object. */
  object(objectPath: string): string;
  /** Uploads that are not complete yet. */
  readonly incoming: string;
  /** What belongs to one deployment's uploads. */
  objectsOf(deploymentId: string): string;
  /** The workspace of one revision's build. */
  build(deploymentId: string, revisionId: string): string;
  buildsOf(deploymentId: string): string;
  /** What work on one thing writes beside its result; removed when the work has ended. */
  scratch(name: string): string;
  readonly scratches: string;
  /** What no row of the database knows, until it is old enough to be deleted. */
  readonly trash: string;
  /** The id that this home shares with its database. */
  readonly instanceId: string;
  /** The ssh host keys of repositories that were seen. */
  readonly knownHosts: string;
  /** The builder's cache, shared by all builds. */
  readonly cache: string;
}

/** The layout under a home directory; nothing is created. */
export function homeLayout(home: string): HomeLayout {
  const root = resolve(home);
  const objects = join(root, 'objects');
  const builds = join(root, 'builds');
  return {
    root,
    objects: join(objects, 'tarballs'),
    builds,
    object: (objectPath) => within(objects, objectPath),
    incoming: join(root, 'incoming'),
    objectsOf: (deploymentId) => within(objects, join('tarballs', deploymentId)),
    build: (deploymentId, revisionId) => join(builds, deploymentId, revisionId),
    buildsOf: (deploymentId) => join(builds, deploymentId),
    scratch: (name) => join(root, 'scratch', name),
    scratches: join(root, 'scratch'),
    trash: join(root, 'trash'),
    instanceId: join(root, 'instance.id'),
    knownHosts: join(root, 'known_hosts'),
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
export async function namesIn(directory: string): Promise<string[]> {
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
