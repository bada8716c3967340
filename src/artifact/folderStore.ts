import { createHash, randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { type FileHandle, mkdir, open, readdir, readFile, rename, rm, stat, utimes } from 'node:fs/promises';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { pathToFileURL } from 'node:url';

import { SlipwayError } from '../domain/errors.ts';
import {
  artifactDigest,
  artifactPath,
  ARTIFACTS,
  type ArtifactStore,
  recordName,
  recordOfText,
  recordPath,
  RECORDS,
  type StoredArtifact,
} from './artifactStore.ts';
import { artifactNotFound, corrupt, digestFile, verifiedBytes } from './digest.ts';

/** An artifact store in a folder: `artifacts/sha256/<first two digits>/<digits>.tar.gz` and `records/<name>`. */
export function folderStore(path: string): ArtifactStore {
  const folder = resolve(path);
  const { href: url } = pathToFileURL(folder);
  const fileAt = (place: string): string => join(folder, ...place.split('/'));
  const ask = <T, A = never>(call: () => Promise<T>, absent?: Absent<A>): Promise<T | A> =>
    storing(folder, call, absent);

  const verify = async (digest: string): Promise<void> => {
    const file = fileAt(artifactPath(digest));
    const found = await ask(() => digestFile(file), { instead: undefined });
    if (found === undefined) throw artifactNotFound(digest, url);
    if (found !== digest) throw corrupt(digest, file);
  };

  const filesBelow = async (path: string): Promise<string[]> => {
    const options = { recursive: true, withFileTypes: true } as const;
    const found = await ask(() => readdir(fileAt(path), options), { instead: [] });
    return found
      .filter((entry) => entry.isFile())
      .map((entry) => relative(folder, join(entry.parentPath, entry.name)).split(sep).join('/'))
      .sort();
  };

  return {
    url,
    verify,

    async put(file, digest, signal) {
      const destination = fileAt(artifactPath(digest));
      if ((await isWhole(destination, digest)) && (await isRenewed(destination))) return;
      await ask(() =>
        writeWhole(destination, async (handle) => {
          const hash = createHash('sha256');
          for await (const chunk of createReadStream(file, { highWaterMark: 1 << 20, signal })) {
            hash.update(chunk as Buffer);
            await handle.writeFile(chunk as Buffer);
          }
          if (`sha256:${hash.digest('hex')}` !== digest) throw corrupt(digest, file);
        }),
      );
    },

    async has(digest) {
      return ask(() => stat(fileAt(artifactPath(digest))).then(() => true), { instead: false });
    },

    async open(digest) {
      const file = fileAt(artifactPath(digest));
      const found = await ask(() => openVerified(file, digest), { instead: undefined });
      if (found === undefined) throw artifactNotFound(digest, url);
      return found;
    },

    async listArtifacts() {
      const held = (await filesBelow(ARTIFACTS)).map(async (path) => {
        const digest = artifactDigest(path);
        if (digest === undefined) return [];
        const found = await ask(() => stat(fileAt(path)), { instead: undefined });
        return found === undefined ? [] : { digest, sizeBytes: found.size, putAt: found.mtime.toISOString() };
      });
      return (await Promise.all(held)).flat();
    },

    async removeArtifact(digest, unlessPutAfter) {
      const file = fileAt(artifactPath(digest));
      const remove = async (): Promise<boolean> => {
        if ((await stat(file)).mtime > new Date(unlessPutAfter)) return false;
        await rm(file);
        return true;
      };
      return ask(remove, { instead: true });
    },

    async putRecord(name, record) {
      const text = `${JSON.stringify(record, null, 2)}\n`;
      await ask(() => writeWhole(fileAt(recordPath(name)), (handle) => handle.writeFile(text)));
    },

    async getRecord(name) {
      const text = await ask(() => readFile(fileAt(recordPath(name)), 'utf8'), { instead: undefined });
      return text === undefined ? undefined : recordOfText(text, name, url);
    },

    async removeRecord(name) {
      await ask(() => rm(fileAt(recordPath(name)), { force: true }));
    },

    async listRecords(prefix = '') {
      const paths = await filesBelow(RECORDS);
      return paths
        .filter((path) => !path.endsWith('.tmp'))
        .flatMap((path) => recordName(path) ?? [])
        .filter((name) => name.startsWith(prefix))
        .sort();
    },
  };
}

/** A file that is missing or unreadable is written again. If that fails, the error says why. */
function isWhole(file: string, digest: string): Promise<boolean> {
  return digestFile(file).then(
    (found) => found === digest,
    () => false,
  );
}

/** Sets a file's time to now, so that it counts as put now. If that fails, the file is written again. */
function isRenewed(file: string): Promise<boolean> {
  const now = new Date();
  return utimes(file, now, now).then(
    () => true,
    () => false,
  );
}

async function openVerified(file: string, digest: string): Promise<StoredArtifact> {
  const handle = await open(file);
  const { size } = await handle.stat();
  const stream = verifiedBytes(handle.createReadStream({ highWaterMark: 1 << 18 }), digest, file);
  // A stream that is never read would keep the file open.
  stream.once('close', () => void handle.close());
  return { stream, sizeBytes: size };
}

/** What to return if the file is missing. */
interface Absent<A> {
  readonly instead: A;
}

/** Runs a call on the store. Errors of the operating system become errors of the store. */
async function storing<T, A = never>(
  folder: string,
  call: () => Promise<T>,
  absent?: Absent<A>,
): Promise<T | A> {
  try {
    return await call();
  } catch (error) {
    if (!(error instanceof Error) || !('syscall' in error)) throw error;
    const { code } = error as NodeJS.ErrnoException;
    if (absent !== undefined && (code === 'ENOENT' || code === 'ENOTDIR')) return absent.instead;
    throw new SlipwayError(
      'SLIPWAY_ARTIFACT_STORE_UNAVAILABLE',
      `the artifact store could not be read or written: ${error.message}`,
      {
        place: folder,
        hint: 'Check the folder’s owner, its permissions, and the free space on its disk.',
        cause: error,
      },
    );
  }
}

/** Writes a file atomically. It is on the disk when this returns, even if the machine crashes then. */
async function writeWhole(path: string, write: (handle: FileHandle) => Promise<void>): Promise<void> {
  const folder = dirname(path);
  await mkdir(folder, { recursive: true });
  const unfinished = `${path}.${randomUUID()}.tmp`;
  try {
    const handle = await open(unfinished, 'wx');
    try {
      await write(handle);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(unfinished, path);
  } catch (error) {
    await rm(unfinished, { force: true });
    throw error;
  }
  await syncFolder(folder);
}

/**
 * A rename is durable once its folder is synced. Windows has no such call and needs none. The shared folders of VirtualBox
 * have none either, and answer EINVAL.
 */
async function syncFolder(folder: string): Promise<void> {
  if (process.platform === 'win32') return;
  const handle = await open(folder);
  try {
    await handle.sync();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EINVAL') throw error;
  } finally {
    await handle.close();
  }
}
