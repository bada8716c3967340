import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';

import { Gzip } from 'fflate';
import { Header, type HeaderData, Pax } from 'tar';

import { SlipwayError } from '../domain/errors.ts';
import { notRead, type SourceEntry, type SourceFile, unreadable } from './sourceFiles.ts';
import { makeTemporaryFolder } from './temporaryFolder.ts';

/** The largest artifact that a control plane accepts, in bytes: 200 MB (the upload's `0,209715200`). */
export const ARTIFACT_MAX_BYTES = 200 * 1024 * 1024;

export interface PackOptions {
  readonly root: string;
  /** What to pack (`sourceFiles`). */
  readonly entries: readonly SourceEntry[];
  /** The folder for the temporary file. Default: the system's. */
  readonly directory?: string;
  /** Default: {@link ARTIFACT_MAX_BYTES}. */
  readonly maxBytes?: number;
  readonly signal?: AbortSignal;
}

/** A packed source, in a temporary file. */
export interface PackedSource {
  readonly file: string;
  /** Of the file's bytes: `sha256:` and 64 hexadecimal digits. */
  readonly digest: string;
  readonly sizeBytes: number;
  /** The number of files and links in it. */
  readonly entries: number;
  /** Removes the temporary file. */
  remove(): Promise<void>;
}

/**
 * Packs a source into a `.tar.gz`. The same tree gives the same bytes on every machine: sorted entries, one time and
 * owner, only the modes 644 and 755, a fixed gzip header, and a compressor of its own.
 * @throws SlipwayError `SLIPWAY_ARTIFACT_UNREADABLE`, or `SLIPWAY_ARTIFACT_TOO_LARGE` with the largest files.
 * @throws the signal's reason.
 */
export async function packSource(options: PackOptions): Promise<PackedSource> {
  const { entries, directory, maxBytes = ARTIFACT_MAX_BYTES, signal } = options;
  if (entries.length === 0) {
    throw unreadable(
      options.root,
      'holds nothing to pack',
      'Look at `artifact.path` and the ignore files, also above it. Pack what git ignores: artifact: { ignore: ["!*"] }',
    );
  }
  const root = await realpath(options.root);
  const { path: workspace, remove } = await makeTemporaryFolder('slipway-pack-', directory);
  const file = join(workspace, 'source.tar.gz');
  try {
    const hash = createHash('sha256');
    let sizeBytes = 0;
    await pipeline(
      tarStream(root, entries),
      gzipStream,
      async function* (chunks: AsyncIterable<Uint8Array>) {
        for await (const chunk of chunks) {
          sizeBytes += chunk.length;
          if (sizeBytes > maxBytes) throw tooLarge(entries, maxBytes);
          hash.update(chunk);
          yield chunk;
        }
      },
      createWriteStream(file),
      { signal },
    );
    return { file, digest: `sha256:${hash.digest('hex')}`, sizeBytes, entries: entries.length, remove };
  } catch (error) {
    await remove();
    signal?.throwIfAborted();
    throw error;
  }
}

const BIGGEST_NAMED = 5;

function tooLarge(entries: readonly SourceEntry[], maxBytes: number): SlipwayError {
  const biggest = entries
    .filter((entry) => entry.kind === 'file')
    .sort((left, right) => right.sizeBytes - left.sizeBytes)
    .slice(0, BIGGEST_NAMED)
    .map(({ path, sizeBytes }) => `${path} (${megabytes(sizeBytes)} MB)`);
  return new SlipwayError(
    'SLIPWAY_ARTIFACT_TOO_LARGE',
    `the packed source is larger than ${megabytes(maxBytes)} MB; its biggest files: ${biggest.join(', ')}`,
    { hint: 'List what the agent does not need in .slipwayignore, or under `artifact.ignore`.' },
  );
}

function megabytes(bytes: number): string {
  const value = bytes / (1024 * 1024);
  return value >= 10 ? String(Math.round(value)) : value.toFixed(1);
}

/** How many bytes to pass to the compressor at once. Its output depends on where they are split. */
const PIECE_BYTES = 1 << 16;
/** The tenth byte of a gzip file is the operating system that created it; 255 is "unknown". */
const SYSTEM_BYTE = 9;

/** Compresses to the same bytes on every machine, which Node's own zlib does not guarantee. */
async function* gzipStream(chunks: AsyncIterable<Buffer>): AsyncGenerator<Uint8Array> {
  let made: Uint8Array[] = [];
  const gzip = new Gzip({ level: 6, mtime: 0 }, (piece) => made.push(piece));
  let isFirst = true;
  const take = function* (): Generator<Uint8Array> {
    for (const piece of made) {
      if (isFirst) piece[SYSTEM_BYTE] = 255;
      isFirst = false;
      yield piece;
    }
    made = [];
  };
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of chunks) {
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    let from = 0;
    for (; bytes.length - from >= PIECE_BYTES; from += PIECE_BYTES) {
      gzip.push(bytes.subarray(from, from + PIECE_BYTES));
      yield* take();
    }
    rest = bytes.subarray(from);
  }
  gzip.push(rest, true);
  yield* take();
}

const BLOCK = 512;
/** The time of every entry, because a checkout sets its files' times to the time of the checkout. */
const EPOCH = new Date(0);

/**
 * A tar archive of the entries. Its bytes do not depend on the machine, the user or the time.
 * @throws SlipwayError `SLIPWAY_ARTIFACT_UNREADABLE` if a file cannot be read or changes meanwhile.
 */
export async function* tarStream(root: string, entries: Iterable<SourceEntry>): AsyncGenerator<Buffer> {
  for (const entry of entries) {
    yield* header(entry);
    if (entry.kind === 'file') yield* content(root, entry);
  }
  // An archive ends with two empty blocks.
  yield Buffer.alloc(2 * BLOCK);
}

function* header(entry: SourceEntry): Generator<Buffer> {
  const data: HeaderData =
    entry.kind === 'file'
      ? { type: 'File', path: entry.path, size: entry.sizeBytes, mode: entry.executable ? 0o755 : 0o644 }
      : { type: 'SymbolicLink', path: entry.path, size: 0, mode: 0o644, linkpath: entry.target };
  const made = new Header({ ...data, mtime: EPOCH, uid: 0, gid: 0, uname: '', gname: '' });
  // Values that do not fit into the classic header (long paths, files over 8 GB) go into an extended header before
  // it.
  if (made.encode()) {
    yield new Pax({
      path: entry.path,
      ...(entry.kind === 'file' ? { size: entry.sizeBytes } : { linkpath: entry.target }),
      mtime: EPOCH,
    }).encode();
  }
  if (made.block !== undefined) yield made.block;
}

async function* content(root: string, file: SourceFile): AsyncGenerator<Buffer> {
  let sizeBytes = 0;
  try {
    for await (const chunk of createReadStream(join(root, file.path), { highWaterMark: 1 << 18 })) {
      sizeBytes += (chunk as Buffer).length;
      if (sizeBytes > file.sizeBytes) break;
      yield chunk as Buffer;
    }
  } catch (error) {
    throw notRead(file.path, error);
  }
  if (sizeBytes !== file.sizeBytes) {
    throw unreadable(
      file.path,
      'changed while it was read',
      'Try again, or list it in .slipwayignore if it changes constantly.',
    );
  }
  const rest = sizeBytes % BLOCK;
  if (rest > 0) yield Buffer.alloc(BLOCK - rest);
}
