import { existsSync } from 'node:fs';
import { mkdir, readFile, readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { Pax } from 'tar';
import { beforeEach, describe, expect, it } from 'vitest';
import { BuildFailure } from '../../src/builder/buildFailure.ts';
import { DEFAULT_BUILD_LIMITS } from '../../src/builder/buildLimits.ts';
import { unpackSource } from '../../src/builder/sourceArchive.ts';
import { useFolders } from '../../../../test/support/temporaryFolder.ts';
import { type RawEntry, archiveOf } from './archives.ts';

const home = useFolders();
let into: string;

beforeEach(async () => {
  into = join(home(), 'a', 'b', 'into');
  await mkdir(into, { recursive: true });
});

async function unpack(archive: Buffer | RawEntry[], limits = {}): Promise<void> {
  const tarball = join(home(), 'source.tar.gz');
  await writeFile(tarball, Array.isArray(archive) ? archiveOf(archive) : archive);
  await unpackSource(tarball, into, { ...DEFAULT_BUILD_LIMITS, ...limits }, new AbortController().signal);
}

async function refusal(archive: Buffer | RawEntry[], limits = {}): Promise<string> {
  const error: unknown = await unpack(archive, limits).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(BuildFailure);
  expect(await readdir(into), 'nothing of a refused archive is written').toEqual([]);
  return (error as BuildFailure).message;
}

/** An archive of one file, with zeros after its end. */
function padWith(bytes: number): Buffer {
  const whole = gunzipSync(archiveOf([{ path: 'a', content: 'a' }]));
  return gzipSync(Buffer.concat([whole, Buffer.alloc(bytes)]));
}

describe('a source archive', () => {
  it('is unpacked with its directories, modes and inner links, and its single top directory is kept', async () => {
    await unpack([
      { path: 'top/', type: 'Directory', mode: 0o555 },
      { path: './top/src/agent.js', content: 'export const graph = 1' },
      { path: 'top/run.sh', content: '#!/bin/sh', mode: 0o6755 },
      { path: 'top/secret.txt', content: 'x', mode: 0o000 },
      { path: 'top/src/here', type: 'SymbolicLink', linkpath: '../src/agent.js' },
      { path: 'top/up', type: 'SymbolicLink', linkpath: '..' },
      { path: 'top/copy.js', type: 'Link', linkpath: 'top/src/agent.js' },
    ]);
    expect(await readFile(join(into, 'top/src/here'), 'utf8')).toBe('export const graph = 1');
    expect(await readFile(join(into, 'top/copy.js'), 'utf8')).toBe('export const graph = 1');
    expect((await stat(join(into, 'top/run.sh'))).mode & 0o7777).toBe(0o755);
    expect((await stat(join(into, 'top/secret.txt'))).mode & 0o777).toBe(0o600);
    expect((await stat(join(into, 'top'))).mode & 0o700).toBe(0o700);
    expect((await stat(join(into, 'top/run.sh'))).uid).toBe(process.getuid?.());
  });

  const BAD: [string, RawEntry[], string][] = [
    ['goes up', [{ path: 'ok' }, { path: '../evil' }], '"../evil" has ".."'],
    ['goes up in the middle', [{ path: 'a/../../evil' }], 'has ".." in its path'],
    ['goes up with backslashes', [{ path: 'a\\..\\..\\evil' }], 'has ".." in its path'],
    ['is absolute', [{ path: '/etc/evil' }], '"/etc/evil" has an absolute path'],
    ['is absolute on Windows', [{ path: 'C:\\evil' }], 'has an absolute path'],
    [
      'links to an absolute path',
      [{ path: 'l', type: 'SymbolicLink', linkpath: '/etc' }],
      'outside the archive',
    ],
    ['links out', [{ path: 'a/l', type: 'SymbolicLink', linkpath: '../../x' }], 'outside the archive'],
    ['links out of its root', [{ path: 'l', type: 'SymbolicLink', linkpath: '..' }], 'outside the archive'],
    [
      'links out by way of another link',
      [
        { path: 'd/e/up', type: 'SymbolicLink', linkpath: '../..' },
        { path: 'out', type: 'SymbolicLink', linkpath: 'd/e/up/../x' },
      ],
      'has ".." after a name',
    ],
    [
      'lies behind a link',
      [
        { path: 'l', type: 'SymbolicLink', linkpath: 'd' },
        { path: 'l/x', content: 'x' },
      ],
      'has entries behind its link "l"',
    ],
    [
      'lies behind what becomes a link later',
      [
        { path: 'l/x', content: 'x' },
        { path: 'l-x', content: 'x' },
        { path: 'l', type: 'SymbolicLink', linkpath: 'd' },
      ],
      'has entries behind its link "l"',
    ],
    ['hard-links out', [{ path: 'h', type: 'Link', linkpath: '../x' }], 'has ".." in its path'],
    [
      'hard-links to an absolute path',
      [{ path: 'h', type: 'Link', linkpath: '/etc/passwd' }],
      'an absolute path',
    ],
    ['hard-links to nothing', [{ path: 'h', type: 'Link', linkpath: 'x' }], 'no earlier file'],
    [
      'hard-links to a link',
      [
        { path: 'x', type: 'SymbolicLink', linkpath: 'y' },
        { path: 'h', type: 'Link', linkpath: 'x' },
      ],
      'no earlier file',
    ],
    ['is a device', [{ path: 'null', type: 'CharacterDevice' }], '"null" is a CharacterDevice'],
    ['is a pipe', [{ path: 'pipe', type: 'FIFO' }], '"pipe" is a FIFO'],
  ];
  it.each(BAD)('is rejected if an entry %s', async (_, entries, reason) => {
    expect(await refusal([{ path: 'first.txt', content: 'good' }, ...entries])).toContain(reason);
    expect(existsSync(join(home(), 'a', 'evil'))).toBe(false);
  });

  it('is rejected, naming the entry, if it has too many entries or bytes', async () => {
    const entries = [
      { path: 'one', content: '12345' },
      { path: 'two', content: '12345' },
    ];
    expect(await refusal(entries, { entries: 1 })).toBe(
      'The archive has more than 1 entries; "two" is one too many.',
    );
    expect(await refusal(entries, { unpackedBytes: 9 })).toBe(
      'The archive unpacks to more than 9 bytes; "two" is beyond that.',
    );
  });

  it('is rejected at the header of a file that is too large, before its content is read', async () => {
    const bomb = archiveOf([{ path: 'bomb', size: 3 * 1024 ** 3 }]);
    expect(await refusal(bomb)).toContain('"bomb" is beyond that');
  });

  it('is rejected if gigabytes of padding follow no entry', async () => {
    const padded = padWith(30_000);
    expect(await refusal(padded, { unpackedBytes: 1_000, entries: 1 })).toContain('more than 1000 bytes');
  });

  it('is unpacked without copying what follows its end again and again', async () => {
    await unpack(padWith(100 * 1024 ** 2));
    expect(await readdir(into)).toEqual(['a']);
  });

  it('is rejected in little memory if a path has a hundred thousand directories', async () => {
    const content = new Pax({ path: `${'a/'.repeat(100_000)}file` }).encodeBody();
    const archive = [{ path: 'pax', type: 'ExtendedHeader', content }, { path: 'file' }] as const;
    expect(await refusal([...archive])).toContain('path excessively deep');
  });

  it('is rejected, naming the entry, if a file system cannot hold two of its entries', async () => {
    const both = unpack([{ path: 'a' }, { path: 'a/b' }]);
    await expect(both).rejects.toThrow(
      new BuildFailure(`The archive's entry "a" cannot be written (EEXIST).`),
    );
  });

  it('is rejected if it is empty, truncated or no archive', async () => {
    const header = { path: 'pax', type: 'GlobalExtendedHeader', content: '19 comment=nothing\n' } as const;
    expect(await refusal([header])).toBe('The archive is empty.');
    expect(await refusal([])).toBe('The archive is empty, or no tar archive.');
    expect(await refusal(Buffer.from('hello'))).toContain('cannot be unpacked as a gzipped tar archive');
    expect(await refusal(gzipSync('no tar inside'.repeat(100)))).toContain('cannot be unpacked');
    const whole = archiveOf([{ path: 'a', content: 'text '.repeat(1_000) }]);
    expect(await refusal(whole.subarray(0, whole.length - 20))).toContain('cannot be unpacked');
    const tar = gunzipSync(whole);
    expect(await refusal(gzipSync(tar.subarray(0, 2_000)))).toContain('cannot be unpacked');
  });
});
