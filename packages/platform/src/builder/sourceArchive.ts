import { createReadStream } from 'node:fs';
import { basename } from 'node:path';
import { Transform, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';

import { Parser, type ReadEntry, Unpack } from 'tar';

import { BuildFailure, quoteName } from './buildFailure.ts';
import type { Shell } from '../runtime/command.ts';
import type { BuildLimits } from './buildLimits.ts';

/** The allowance for one entry's headers, its own and extended ones, in bytes. */
const HEADER_BYTES = 4_096;

/**
 * Unpacks a gzipped source tarball into an existing, empty directory. It checks the whole archive first ({@link
 * ArchiveRules}), so nothing of an invalid one is written. Owners are not restored, set-id bits are dropped, and
 * everything is made readable and writable for its owner. A single top directory is kept.
 * @throws BuildFailure if the archive is no gzipped tarball or contains forbidden entries.
 */
export async function unpackSource(
  tarball: string,
  into: string,
  limits: BuildLimits,
  signal: AbortSignal,
  owner?: Shell['owner'],
): Promise<void> {
  const rules = new ArchiveRules(limits);
  const checkingParser = new Parser({ strict: true });
  const admit = (entry: ReadEntry): void => {
    try {
      rules.admit(entry);
    } catch (error) {
      checkingParser.emit('error', error);
    }
    entry.resume();
  };
  checkingParser.on('entry', admit).on('ignoredEntry', admit);
  await read(tarball, checkingParser, limits, signal);
  rules.finish();

  const unpack = new Unpack({
    cwd: into,
    strict: true,
    ...(owner ?? { preserveOwner: false }),
    noMtime: true,
    onReadEntry: (entry) => {
      entry.mode = ((entry.mode ?? 0) & 0o777) | (entry.type === 'Directory' ? 0o700 : 0o600);
    },
  });
  await read(tarball, unpack, limits, signal);
}

/** Pipes an archive into a parser, and stops at its first error. */
async function read(
  tarball: string,
  parser: Parser,
  limits: BuildLimits,
  signal: AbortSignal,
): Promise<void> {
  try {
    await pipeline(createReadStream(tarball), createGunzip(), bounded(limits), sinkOf(parser), { signal });
  } catch (error) {
    throw toBuildFailure(error);
  }
}

/** A decompression bomb can also hide outside the entries: in headers, or after the end. */
function bounded(limits: BuildLimits): Transform {
  const most = limits.unpackedBytes + limits.entries * HEADER_BYTES;
  let bytes = 0;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length;
      if (bytes <= most) done(null, chunk);
      else done(new BuildFailure(`The archive unpacks to more than ${String(limits.unpackedBytes)} bytes.`));
    },
  });
}

/** Wraps a tar parser, which is no Node stream, as the end of a pipeline. */
function sinkOf(parser: Parser): Writable {
  // The parser keeps what follows the end, and copies all of it for each further chunk.
  let isPastEnd = false;
  parser.once('eof', () => (isPastEnd = true));
  const sink = new Writable({
    write(chunk: Buffer, _encoding, done) {
      if (isPastEnd || parser.write(chunk)) done();
      else parser.once('drain', done);
    },
    final(done) {
      parser.once('close', () => done());
      parser.end();
    },
    destroy(error, done) {
      // Only an end closes the file that is being written.
      if (error !== null) parser.end();
      done(error);
    },
  });
  parser.on('error', (error: Error) => sink.destroy(error));
  return sink;
}

/** The file system's errors about an entry's name, or about a file where another entry needs a directory. */
const ENTRY_ERROR = /^(?:EEXIST|EISDIR|ENAMETOOLONG|ENOTDIR|ENOTEMPTY)$/;

/** Errors of zlib and tar concern the archive; ours, and those about the disk, pass unchanged. */
function toBuildFailure(error: unknown): unknown {
  const {
    code = '',
    tarCode = code,
    syscall,
    path = '',
    message,
  } = error as NodeJS.ErrnoException & { tarCode?: string };
  if (syscall !== undefined && ENTRY_ERROR.test(code)) {
    return new BuildFailure(`The archive's entry ${quoteName(basename(path))} cannot be written (${code}).`);
  }
  if (syscall !== undefined || !/^(Z_|TAR_)/.test(tarCode)) return error;
  if (message.includes('Unrecognized')) return new BuildFailure('The archive is empty, or no tar archive.');
  return new BuildFailure(`The source cannot be unpacked as a gzipped tar archive (${message}).`);
}

interface ArchiveEntry {
  readonly path: string;
  /** tar's name for the kind of entry: `File`, `Directory`, `SymbolicLink`, `Link`, `CharacterDevice`, … */
  readonly type: string;
  readonly linkpath?: string;
  /** Bytes. */
  readonly size: number;
}

const FILE_TYPES = new Set(['File', 'OldFile', 'ContiguousFile']);

/**
 * The allowed contents of a source archive: files and directories inside its root, and links that stay inside.
 * Everything is checked by the headers, before anything is written.
 *
 * A link's target may go up (`..`) only at its beginning, and no entry may be behind a link. So each target starts in
 * the link's own real directory, goes up no further than the root, and then only down. Links on that way stay inside
 * for the same reason.
 */
class ArchiveRules {
  readonly #limits: BuildLimits;
  #entries = 0;
  #bytes = 0;
  readonly #entryKeys = new Set<string>();
  readonly #files = new Set<string>();
  readonly #links = new Map<string, string>();

  constructor(limits: BuildLimits) {
    this.#limits = limits;
  }

  /** @throws BuildFailure naming a forbidden entry. */
  admit(entry: ArchiveEntry): void {
    this.#count(entry);
    const segments = segmentsOf(entry);
    const key = keyOf(segments);
    this.#entryKeys.add(key);
    if (FILE_TYPES.has(entry.type)) {
      this.#files.add(key);
    } else if (entry.type === 'SymbolicLink') {
      checkSymbolicLink(entry, segments);
      this.#links.set(key, entry.path);
      this.#files.delete(key);
    } else if (entry.type === 'Link') {
      this.#checkHardLink(entry);
      this.#files.add(key);
    } else if (entry.type !== 'Directory') {
      throw new BuildFailure(
        `The archive's entry ${quoteName(entry.path)} is a ${entry.type}: only files, directories and links may be in it.`,
      );
    }
  }

  /** Call it after the last entry. @throws BuildFailure if the archive was empty, or an entry was behind a link. */
  finish(): void {
    if (this.#entries === 0) throw new BuildFailure('The archive is empty.');
    // In this order, what is behind an entry follows it directly.
    const keys = [...this.#entryKeys].sort();
    for (const [index, key] of keys.entries()) {
      const link = this.#links.get(key);
      if (link !== undefined && keys[index + 1]?.startsWith(`${key}\0`) === true) {
        throw new BuildFailure(`The archive has entries behind its link ${quoteName(link)}.`);
      }
    }
  }

  #count(entry: ArchiveEntry): void {
    this.#entries += 1;
    this.#bytes += entry.size;
    if (this.#entries > this.#limits.entries) {
      throw new BuildFailure(
        `The archive has more than ${String(this.#limits.entries)} entries; ${quoteName(entry.path)} is one too many.`,
      );
    }
    if (this.#bytes > this.#limits.unpackedBytes) {
      throw new BuildFailure(
        `The archive unpacks to more than ${String(this.#limits.unpackedBytes)} bytes; ${quoteName(entry.path)} is beyond that.`,
      );
    }
  }

  #checkHardLink(entry: ArchiveEntry): void {
    const target = segmentsOf({ ...entry, path: entry.linkpath ?? '' }, entry.path);
    if (!this.#files.has(keyOf(target))) {
      throw new BuildFailure(
        `The archive's hard link ${quoteName(entry.path)} points at ${quoteName(entry.linkpath ?? '')}, which is no earlier file of the archive.`,
      );
    }
  }
}

/** @throws BuildFailure if the path leaves the archive's root. `link` is the entry with that target. */
function segmentsOf(entry: ArchiveEntry, link?: string): string[] {
  const { path } = entry;
  const subject =
    link === undefined
      ? `The archive's entry ${quoteName(path)}`
      : `The archive's link ${quoteName(link)}, which points at ${quoteName(path)},`;
  if (path.includes('\0')) throw new BuildFailure(`${subject} has a NUL character in its path.`);
  if (isAbsolute(path)) throw new BuildFailure(`${subject} has an absolute path.`);
  const segments = split(path);
  if (segments.includes('..')) throw new BuildFailure(`${subject} has ".." in its path.`);
  return segments;
}

function checkSymbolicLink(entry: ArchiveEntry, segments: readonly string[]): void {
  const target = entry.linkpath ?? '';
  const subject = `The archive's link ${quoteName(entry.path)} points at ${quoteName(target)}`;
  if (target === '' || target.includes('\0')) throw new BuildFailure(`${subject}, which is no path.`);
  if (isAbsolute(target)) throw new BuildFailure(`${subject}, outside the archive.`);
  const steps = split(target);
  const down = steps.findIndex((step) => step !== '..');
  const up = down === -1 ? steps.length : down;
  if (up > segments.length - 1) throw new BuildFailure(`${subject}, outside the archive.`);
  if (steps.includes('..', up)) {
    throw new BuildFailure(`${subject}, which has ".." after a name: ".." is allowed only at the beginning.`);
  }
}

function isAbsolute(path: string): boolean {
  return /^[/\\]|^[A-Za-z]:/.test(path);
}

/** A path's names. A backslash is a separator on some systems, so it always counts as one. */
function split(path: string): string[] {
  return path.split(/[/\\]/).filter((name) => name !== '' && name !== '.');
}

/** A name as file systems compare it (case, composition), joined by NUL: its entries sort right behind it. */
function keyOf(segments: readonly string[]): string {
  const path = segments.join('\0');
  return process.platform === 'darwin' ? path.normalize('NFC').toLowerCase() : path;
}
