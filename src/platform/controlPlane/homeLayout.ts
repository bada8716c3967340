import { join, resolve, sep } from 'node:path';

/** Where things lie in a platform's home. */
export interface HomeLayout {
  readonly root: string;
  /** The file of an uploaded object. */
  object(objectPath: string): string;
  /** Uploads that are not complete yet. */
  readonly incoming: string;
  /** What belongs to one deployment's uploads. */
  objectsOf(deploymentId: string): string;
  /** The workspace of one revision's build. */
  build(deploymentId: string, revisionId: string): string;
  buildsOf(deploymentId: string): string;
  /** The builder's cache, shared by all builds. */
  readonly cache: string;
}

/** The layout under a home directory; nothing is created. */
export function homeLayout(home: string): HomeLayout {
  const root = resolve(home);
  const objects = join(root, 'objects');
  return {
    root,
    object: (objectPath) => within(objects, objectPath),
    incoming: join(root, 'incoming'),
    objectsOf: (deploymentId) => within(objects, join('tarballs', deploymentId)),
    build: (deploymentId, revisionId) => join(root, 'builds', deploymentId, revisionId),
    buildsOf: (deploymentId) => join(root, 'builds', deploymentId),
    cache: join(root, 'cache'),
  };
}

/** Object paths are made by the platform itself; this holds even where a row was tampered with. */
function within(directory: string, path: string): string {
  const full = resolve(directory, path);
  if (!full.startsWith(directory + sep)) throw new Error('An object path leads out of its directory.');
  return full;
}
