import { createHash } from 'node:crypto';

import { Parser, type ReadEntry } from 'tar';

import type { WholeNumber } from '../domain/scalars.ts';
import type { StoredArtifact } from './artifactStore.ts';

/** A file or link in an artifact. */
export interface ArtifactFile {
  readonly path: string;
  readonly sizeBytes: WholeNumber;
  /** The sha256 of its content, its mode and a link's target. */
  readonly digest: string;
}

/**
 * The files and links of a source tarball, by path. Nothing is unpacked.
 * @throws SlipwayError `SLIPWAY_ARTIFACT_CORRUPT` if its bytes do not match its digest.
 */
export async function artifactFiles({ stream }: StoredArtifact): Promise<ReadonlyMap<string, ArtifactFile>> {
  const files = new Map<string, ArtifactFile>();
  const parser = new Parser({ strict: true });
  const read = new Promise<void>((resolve, reject) => {
    parser.on('end', resolve);
    parser.on('error', reject);
  });
  // Whichever of the two fails first is thrown below.
  read.catch(() => undefined);
  parser.on('entry', (entry: ReadEntry) => {
    if (entry.type === 'Directory') {
      entry.resume();
      return;
    }
    const hash = createHash('sha256').update(`${entry.mode ?? 0} ${entry.linkpath ?? ''}\n`);
    entry.on('data', (chunk: Buffer) => hash.update(chunk));
    entry.on('end', () => {
      const { path, size } = entry;
      files.set(path, { path, sizeBytes: size, digest: hash.digest('hex') });
    });
  });
  for await (const chunk of stream) parser.write(chunk as Buffer);
  parser.end();
  await read;
  return files;
}

/** How the files of two artifacts differ. Each list is sorted by path. */
export interface FilesDifference {
  readonly added: readonly ArtifactFile[];
  readonly removed: readonly ArtifactFile[];
  readonly changed: readonly { readonly from: ArtifactFile; readonly to: ArtifactFile }[];
}

export function filesDifference(
  from: ReadonlyMap<string, ArtifactFile>,
  to: ReadonlyMap<string, ArtifactFile>,
): FilesDifference {
  const byPath = (one: ArtifactFile, other: ArtifactFile): number => (one.path < other.path ? -1 : 1);
  const added = [...to.values()].filter(({ path }) => !from.has(path));
  const removed = [...from.values()].filter(({ path }) => !to.has(path));
  const changed = [...to.values()].sort(byPath).flatMap((file) => {
    const before = from.get(file.path);
    return before === undefined || before.digest === file.digest ? [] : [{ from: before, to: file }];
  });
  return { added: added.sort(byPath), removed: removed.sort(byPath), changed };
}
