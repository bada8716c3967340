import { createReadStream } from 'node:fs';
import { Transform, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { Parser, type ReadEntry, Unpack } from 'tar';
import { ArchiveRules } from './archiveRules.ts';
import { BuildFailure } from './buildFailure.ts';
import type { BuildLimits } from './buildLimits.ts';

/** What the headers of one entry may take beside its content: its own, and extended ones. */
const HEADER_BYTES = 4_096;

/**
 * Unpacks a gzipped source tarball into an existing, empty directory. The whole archive is judged first
 * ({@link ArchiveRules}), so nothing of a bad one is ever written. Owners are not restored, set-id bits are
 * dropped, and everything is made readable and writable for us. A single top directory is kept as it is.
 *
 * @throws BuildFailure when the archive is not a gzipped tarball or holds what it may not.
 */
export async function unpackSource(
  tarball: string,
  into: string,
  limits: BuildLimits,
  signal: AbortSignal,
): Promise<void> {
  const rules = new ArchiveRules(limits);
  const judge = new Parser({ strict: true });
  const refused = (stop: (error: Error) => void) => (entry: ReadEntry) => {
    try {
      rules.admit(entry);
    } catch (error) {
      stop(error as Error);
    }
    entry.resume();
  };
  await read(tarball, judge, limits, signal, (stop) => {
    judge.on('entry', refused(stop));
    judge.on('ignoredEntry', refused(stop));
  });
  rules.finish();

  const unpack = new Unpack({
    cwd: into,
    strict: true,
    preserveOwner: false,
    noMtime: true,
    onReadEntry: (entry) => {
      entry.mode = ((entry.mode ?? 0) & 0o777) | (entry.type === 'Directory' ? 0o700 : 0o600);
    },
  });
  await read(tarball, unpack, limits, signal);
}

/** Feeds an archive to a parser. `prepare` gets what stops the reading with an error. */
async function read(
  tarball: string,
  parser: Parser,
  limits: BuildLimits,
  signal: AbortSignal,
  prepare: (stop: (error: Error) => void) => void = () => undefined,
): Promise<void> {
  const sink = sinkOf(parser);
  prepare((error) => sink.destroy(error));
  try {
    await pipeline(createReadStream(tarball), createGunzip(), bounded(limits), sink, { signal });
  } catch (error) {
    throw asFailure(error);
  }
}

/** A bomb can hide outside the entries, too: in headers, or after the end. */
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

/** tar's parsers are no Node streams: this makes one of them the end of a pipeline. */
function sinkOf(parser: Parser): Writable {
  const sink = new Writable({
    write(chunk: Buffer, _encoding, done) {
      if (parser.write(chunk)) done();
      else parser.once('drain', done);
    },
    final(done) {
      parser.once('close', () => done());
      parser.end();
    },
    destroy(error, done) {
      // The file that is being written is closed by an end, not by silence.
      if (error !== null) parser.end();
      done(error);
    },
  });
  parser.on('error', (error: Error) => sink.destroy(error));
  return sink;
}

/** Errors of zlib and tar are about the archive; errors of the file system and ours are what they are. */
function asFailure(error: unknown): unknown {
  const { code, tarCode, syscall } = error as { code?: unknown; tarCode?: unknown; syscall?: unknown };
  const told = typeof tarCode === 'string' ? tarCode : typeof code === 'string' ? code : '';
  if (syscall !== undefined || !/^(Z_|TAR_)/.test(told)) return error;
  const message = error instanceof Error ? error.message : told;
  return new BuildFailure(`The source cannot be unpacked as a gzipped tar archive (${message}).`);
}
