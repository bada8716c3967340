import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open, readdir, readFile, stat } from 'node:fs/promises';
import { join, resolve, sep } from 'node:path';
import { Readable } from 'node:stream';
import { pathToFileURL } from 'node:url';

import { SlipwayError } from '../domain/errors.ts';
import { writeWhole } from './atomicFile.ts';
import type { ArtifactStore, StoredArtifact } from './artifactStore.ts';
import { digestFile, isDigest } from './digest.ts';

/** An artifact store in a folder: `artifacts/sha256/<first two digits>/<digits>.tar.gz` and `records/<name>`. */
export function folderStore(path: string): ArtifactStore {
  const folder = resolve(path);
  const records = join(folder, 'records');

  const verify = async (digest: string): Promise<void> => {
    const file = fileOf(folder, digest);
    const found = await storing(folder, () => digestFile(file), notFound(digest));
    if (found !== digest) throw corrupt(digest, file);
  };

  return {
    url: pathToFileURL(folder).href,
    verify,

    async put(file, digest) {
      const destination = fileOf(folder, digest);
      if (await isWhole(destination, digest)) return;
      await storing(folder, () =>
        writeWhole(destination, async (handle) => {
          const hash = createHash('sha256');
          for await (const chunk of createReadStream(file, { highWaterMark: 1 << 20 })) {
            hash.update(chunk as Buffer);
            await handle.writeFile(chunk as Buffer);
          }
          if (`sha256:${hash.digest('hex')}` !== digest) throw corrupt(digest, file);
        }),
      );
    },

    async has(digest) {
      return storing(
        folder,
        () => stat(fileOf(folder, digest)).then(() => true),
        () => false,
      );
    },

    async open(digest) {
      return storing(folder, () => openVerified(fileOf(folder, digest), digest), notFound(digest));
    },

    async putRecord(name, record) {
      const text = `${JSON.stringify(record, null, 2)}\n`;
      await storing(folder, () => writeWhole(recordFile(records, name), (handle) => handle.writeFile(text)));
    },

    async getRecord(name) {
      const text = await storing(
        folder,
        () => readFile(recordFile(records, name), 'utf8'),
        () => undefined,
      );
      return text === undefined ? undefined : (JSON.parse(text) as unknown);
    },

    async listRecords(prefix = '') {
      const found = await storing(
        folder,
        () => readdir(records, { recursive: true, withFileTypes: true }),
        () => [],
      );
      return found
        .filter((entry) => entry.isFile() && !entry.name.endsWith('.tmp'))
        .map((entry) => join(entry.parentPath, entry.name).slice(records.length + 1))
        .map((file) => file.split(sep).map(decodeURIComponent).join('/'))
        .filter((name) => name.startsWith(prefix))
        .sort();
    },
  };
}

function fileOf(folder: string, digest: string): string {
  if (!isDigest(digest)) {
    throw new SlipwayError('SLIPWAY_ARTIFACT_NOT_FOUND', `"${digest}" is not an artifact’s digest`, {
      hint: 'A digest is sha256: and 64 hexadecimal digits.',
    });
  }
  const digits = digest.slice('sha256:'.length);
  return join(folder, 'artifacts', 'sha256', digits.slice(0, 2), `${digits}.tar.gz`);
}

/** Any name becomes a path inside the folder: what could lead out of it, or be no file name, is escaped. */
function recordFile(records: string, name: string): string {
  const segments = name.split('/');
  if (segments.some((segment) => segment === '' || segment === '.' || segment === '..')) {
    throw new TypeError(`"${name}" cannot name a record`);
  }
  return join(records, ...segments.map(encodeURIComponent));
}

async function isWhole(file: string, digest: string): Promise<boolean> {
  return digestFile(file).then(
    (found) => found === digest,
    // Not there, or not readable: it is written anew, which says what is wrong.
    () => false,
  );
}

async function openVerified(file: string, digest: string): Promise<StoredArtifact> {
  const handle = await open(file);
  const { size } = await handle.stat();
  const hash = createHash('sha256');
  // The last bytes are given out only once all of them are right: who sends them on never sends a whole wrong file.
  const verified = async function* (): AsyncGenerator<Buffer> {
    let heldBack: Buffer | undefined;
    for await (const chunk of handle.createReadStream({ highWaterMark: 1 << 18 })) {
      hash.update(chunk as Buffer);
      if (heldBack !== undefined) yield heldBack;
      heldBack = chunk as Buffer;
    }
    if (`sha256:${hash.digest('hex')}` !== digest) throw corrupt(digest, file);
    if (heldBack !== undefined) yield heldBack;
  };
  const stream = Readable.from(verified(), { objectMode: false });
  // A stream that nobody reads would keep the file open.
  stream.once('close', () => void handle.close());
  return { stream, sizeBytes: size };
}

/** Runs a call on the store. What the operating system refuses is the store's failure; `absent` answers "not there". */
async function storing<T, A = never>(
  folder: string,
  call: () => Promise<T>,
  absent?: () => A,
): Promise<T | A> {
  try {
    return await call();
  } catch (error) {
    if (!(error instanceof Error) || !('syscall' in error)) throw error;
    const { code } = error as NodeJS.ErrnoException;
    if (absent !== undefined && (code === 'ENOENT' || code === 'ENOTDIR')) return absent();
    throw new SlipwayError(
      'SLIPWAY_ARTIFACT_STORE_UNAVAILABLE',
      `the artifact store could not be read or written: ${error.message}`,
      {
        place: folder,
        hint: 'Look at the folder’s owner and rights, and at the space on its disk.',
        cause: error,
      },
    );
  }
}

function notFound(digest: string): () => never {
  return () => {
    throw new SlipwayError(
      'SLIPWAY_ARTIFACT_NOT_FOUND',
      `there is no artifact ${digest} in the artifact store`,
      {
        hint: 'The worker and the command must use the same store (`artifact.store`); release again to put it there.',
      },
    );
  };
}

function corrupt(digest: string, file: string): SlipwayError {
  return new SlipwayError('SLIPWAY_ARTIFACT_CORRUPT', `the bytes of ${file} do not match ${digest}`, {
    place: file,
    hint: 'Release again: packing puts a whole copy in its place.',
  });
}
