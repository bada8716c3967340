import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { create } from 'tar';
import { closeServer, listen } from './listen.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

interface Locked {
  /** Set if its folder has another name. */
  readonly name?: string;
  readonly version?: string;
  readonly link?: boolean;
  /** Set if it supports only some systems. */
  readonly os?: readonly string[];
  readonly cpu?: readonly string[];
}

const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
  readonly packages: Readonly<Record<string, Locked>>;
};

/** Packages for some systems only. Which of them are installed depends on the machine. */
export const FOR_SOME_SYSTEMS: ReadonlySet<string> = new Set(
  Object.entries(packages)
    .filter(([, { os, cpu }]) => os !== undefined || cpu !== undefined)
    .map(([path]) => nameOf(path)),
);

/** A package registry on loopback, from which npm installs without a network. */
export interface LockedRegistry {
  readonly url: string;
  close(): Promise<void>;
}

/** Starts a registry with the lock file's packages, taken from this repository's `node_modules`. */
export async function startLockedRegistry(): Promise<LockedRegistry> {
  const server = createServer((request, response) => {
    const path = decodeURIComponent(request.url ?? '').slice(1);
    const folder = path.startsWith(TARBALLS) ? path.slice(TARBALLS.length) : undefined;
    if (folder !== undefined && folder in packages && existsSync(join(ROOT, folder))) {
      const filter = (file: string): boolean => !file.startsWith('./node_modules/');
      create({ gzip: { level: 1 }, cwd: join(ROOT, folder), prefix: 'package', filter }, ['.']).pipe(
        response,
      );
      return;
    }
    const versions = versionsOf(path, url);
    const [latest] = Object.keys(versions).sort((one, other) => compare(other, one));
    response.statusCode = latest === undefined ? 404 : 200;
    response.end(JSON.stringify({ name: path, versions, 'dist-tags': { latest } }));
  });
  const url = `${await listen(server)}/`;
  return { url, close: () => closeServer(server) };
}

/** The prefix of tarball paths. */
const TARBALLS = '-/';

function versionsOf(name: string, url: string): Record<string, object> {
  const found = Object.entries(packages).filter(
    ([path, { link }]) => path.startsWith('node_modules/') && link !== true && nameOf(path) === name,
  );
  return Object.fromEntries(
    found.map(([path, locked]) => [
      locked.version ?? '',
      { ...locked, name, dist: { tarball: `${url}${encodeURIComponent(`${TARBALLS}${path}`)}` } },
    ]),
  );
}

function nameOf(path: string): string {
  return packages[path]?.name ?? path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
}

function compare(one: string, other: string): number {
  return one.localeCompare(other, 'en', { numeric: true });
}
