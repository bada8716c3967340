import { createReadStream } from 'node:fs';
import { join } from 'node:path';

import { Header, type HeaderData, Pax } from 'tar';

import { systemReason, unreadable } from './sourceError.ts';
import type { SourceEntry, SourceFile } from './sourceFiles.ts';

const BLOCK = 512;
/** Every entry has this time: a checkout gives its files the time at which it was made. */
const EPOCH = new Date(0);

/**
 * The bytes of a tar archive of the entries, in their order: nothing in them depends on the machine, the user, or the
 * time. Files are streamed.
 *
 * @throws SlipwayError `SLIPWAY_ARTIFACT_UNREADABLE` for a file that cannot be read, or changes while it is read.
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
  // What does not fit into the classic header (long paths, files over 8 GB) stands in an extended one before it.
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
    throw unreadable(
      file.path,
      `could not be read: ${systemReason(error)}`,
      'Make it readable, or name it in .slipwayignore.',
      error,
    );
  }
  if (sizeBytes !== file.sizeBytes) {
    throw unreadable(
      file.path,
      'changed while it was read',
      'Try again, or name it in .slipwayignore if it is written to all the time.',
    );
  }
  const rest = sizeBytes % BLOCK;
  if (rest > 0) yield Buffer.alloc(BLOCK - rest);
}
