import { writeFile } from 'node:fs/promises';
import { gzipSync } from 'node:zlib';
import { Header, list } from 'tar';

type EntryType =
  | 'File'
  | 'Directory'
  | 'SymbolicLink'
  | 'Link'
  | 'CharacterDevice'
  | 'FIFO'
  | 'ExtendedHeader'
  | 'GlobalExtendedHeader';

/** An archive entry that normal tools would not write. */
export interface RawEntry {
  readonly path: string;
  readonly type?: EntryType;
  readonly linkpath?: string;
  readonly content?: string | Buffer;
  /** The size in the header, if it differs from the content's length. */
  readonly size?: number;
  readonly mode?: number;
}

/** The bytes of a gzipped tarball with exactly these entries. */
export function archiveOf(entries: readonly RawEntry[]): Buffer {
  const blocks = entries.flatMap((entry) => {
    const content = typeof entry.content === 'object' ? entry.content : Buffer.from(entry.content ?? '');
    const header = new Header({
      path: entry.path,
      type: entry.type ?? 'File',
      mode: entry.mode ?? (entry.type === 'Directory' ? 0o755 : 0o644),
      size: entry.size ?? content.length,
      mtime: new Date(0),
      uid: 12_345,
      gid: 12_345,
      ...(entry.linkpath === undefined ? {} : { linkpath: entry.linkpath }),
    });
    const block = Buffer.alloc(512);
    header.encode(block, 0);
    return [block, content, Buffer.alloc((512 - (content.length % 512)) % 512)];
  });
  return gzipSync(Buffer.concat([...blocks, Buffer.alloc(1024)]));
}

/** Writes a source tree as a tarball: path to content. */
export async function writeSource(
  file: string,
  tree: Readonly<Record<string, string | Buffer>>,
): Promise<void> {
  const entries = Object.entries(tree).map(([path, content]) => ({ path, content }));
  await writeFile(file, archiveOf(entries));
}

/** The names of a tarball's entries, sorted. */
export async function namesIn(tarball: string): Promise<string[]> {
  const names: string[] = [];
  await list({ file: tarball, onReadEntry: ({ path }) => void names.push(path) });
  return names.sort();
}
