import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';

import { SlipwayError } from '../domain/errors.ts';
import { unreadable } from './sourceError.ts';
import { type SourceEntry, sourceFiles } from './sourceFiles.ts';
import { tarStream } from './tarStream.ts';
import { Gzip } from 'fflate';

/** The largest artifact that a control plane takes, in bytes: 200 MB (the upload's `0,209715200`). */
export const ARTIFACT_MAX_BYTES = 200 * 1024 * 1024;

/** What {@link packSource} packs, and how. */
export interface PackOptions {
  /** The source's root. */
  readonly root: string;
  /** More patterns to leave out, as in `.gitignore`, relative to the root. */
  readonly ignore?: readonly string[];
  /** What {@link sourceFiles} found there, where somebody has looked already. */
  readonly entries?: readonly SourceEntry[];
  /** Where the temporary file is made. Default: the system's folder for them. */
  readonly directory?: string;
  /** Default: {@link ARTIFACT_MAX_BYTES}. */
  readonly maxBytes?: number;
  /** Told the number of entries written so far. */
  readonly onProgress?: (written: number, total: number) => void;
  readonly signal?: AbortSignal;
}

/** A packed source, in a temporary file. */
export interface PackedSource {
  readonly file: string;
  /** `sha256:` and 64 hexadecimal digits, of the file's bytes. */
  readonly digest: string;
  readonly sizeBytes: number;
  /** How many files and links are in it. */
  readonly entries: number;
  /** Removes the temporary file. */
  remove(): Promise<void>;
}

/**
 * Packs a source into a `.tar.gz`. The same tree gives the same bytes, whoever packs it and wherever it was checked
 * out: entries sorted, one time and owner for all, modes 644 and 755 only, a fixed gzip header, a compressor of its own.
 *
 * Left out: what `.gitignore` and `.slipwayignore` say, `options.ignore`, and always `.git`, `.slipway`,
 * `node_modules`, `.env*` (but not `.env.example`), key files, and `.npmrc` where a token is written into it.
 *
 * @throws SlipwayError `SLIPWAY_ARTIFACT_UNREADABLE`, or `SLIPWAY_ARTIFACT_TOO_LARGE` naming the biggest files.
 * @throws the signal's reason when `signal` is aborted.
 */
export async function packSource(options: PackOptions): Promise<PackedSource> {
  const { ignore = [], directory = tmpdir(), maxBytes = ARTIFACT_MAX_BYTES, signal } = options;
  const entries = options.entries ?? (await sourceFiles(options.root, ignore));
  if (entries.length === 0) {
    throw unreadable(
      options.root,
      'holds nothing to pack',
      'Look at `artifact.path` and at the ignore files.',
    );
  }
  const root = await realpath(options.root);
  const workspace = await mkdtemp(join(directory, 'slipway-pack-'));
  const remove = (): Promise<void> => rm(workspace, { recursive: true, force: true });
  const file = join(workspace, 'source.tar.gz');
  try {
    const hash = createHash('sha256');
    let sizeBytes = 0;
    await pipeline(
      tarStream(root, followed(entries, options.onProgress)),
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

function* followed(
  entries: readonly SourceEntry[],
  onProgress: PackOptions['onProgress'],
): Generator<SourceEntry> {
  let written = 0;
  for (const entry of entries) {
    yield entry;
    written += 1;
    onProgress?.(written, entries.length);
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

/** Bytes handed to the compressor at once: what it makes of them depends on where they are cut. */
const PIECE_BYTES = 1 << 16;
/** The tenth byte of a gzip file names the operating system that made it; 255 is "unknown". */
const SYSTEM_BYTE = 9;

/**
 * Compresses a stream with gzip, to the same bytes on every machine. Node's own zlib does not promise that: another
 * release, a distribution's build or another processor may find other matches in the same content.
 */
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
