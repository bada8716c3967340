import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { pathToFileURL } from 'node:url';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { type ArtifactStore, openArtifactStore } from '../../src/artifact/artifactStore.ts';

const CONTENT = 'the bytes of an artifact';
const DIGEST = `sha256:${createHash('sha256').update(CONTENT).digest('hex')}`;
const UNKNOWN = `sha256:${'0'.repeat(64)}`;

let folder: string;
let file: string;
let store: ArtifactStore;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'slipway-store-'));
  file = join(folder, 'source.tar.gz');
  await writeFile(file, CONTENT);
  store = openArtifactStore(join(folder, 'store'));
});

afterEach(() => rm(folder, { recursive: true, force: true }));

describe('an artifact', () => {
  it('is given back as it was put, by the store’s URL too', async () => {
    await store.put(file, DIGEST);
    const { stream, sizeBytes } = await openArtifactStore(store.url).open(DIGEST);
    expect((await buffer(stream)).toString()).toBe(CONTENT);
    expect(sizeBytes).toBe(CONTENT.length);
  });

  it('is there once it was put', async () => {
    expect(await store.has(DIGEST)).toBe(false);
    await store.put(file, DIGEST);
    expect(await store.has(DIGEST)).toBe(true);
  });

  it('can be put again, and by two at once', async () => {
    await Promise.all([store.put(file, DIGEST), store.put(file, DIGEST)]);
    await store.put(file, DIGEST);
    await store.verify(DIGEST);
    expect((await storedFiles()).length).toBe(1);
  });

  it('is refused where it does not match its digest, and leaves nothing behind', async () => {
    await expect(store.put(file, UNKNOWN)).rejects.toMatchObject({ code: 'SLIPWAY_ARTIFACT_CORRUPT' });
    expect(await store.has(UNKNOWN)).toBe(false);
    expect(await storedFiles()).toEqual([]);
  });

  it('that was damaged is found out by verifying and by reading, and mended by putting it again', async () => {
    await store.put(file, DIGEST);
    const [damaged = ''] = await storedFiles();
    await writeFile(damaged, 'the bytes of an artefact');
    await expect(store.verify(DIGEST)).rejects.toMatchObject({ code: 'SLIPWAY_ARTIFACT_CORRUPT' });
    const { stream } = await store.open(DIGEST);
    await expect(buffer(stream)).rejects.toMatchObject({ code: 'SLIPWAY_ARTIFACT_CORRUPT' });
    await store.put(file, DIGEST);
    await store.verify(DIGEST);
  });

  it('that was damaged is never given out whole, so that nobody can send it on as if it were right', async () => {
    await store.put(file, DIGEST);
    const [damaged = ''] = await storedFiles();
    const wrong = Buffer.alloc(700_000, 'x');
    await writeFile(damaged, wrong);
    const { stream, sizeBytes } = await store.open(DIGEST);
    let given = 0;
    const reading = (async () => {
      for await (const chunk of stream) given += (chunk as Buffer).length;
    })();
    await expect(reading).rejects.toMatchObject({ code: 'SLIPWAY_ARTIFACT_CORRUPT' });
    expect(given).toBeLessThan(sizeBytes);
  });

  it('that is not there is named', async () => {
    const missing = { code: 'SLIPWAY_ARTIFACT_NOT_FOUND', message: expect.stringContaining(UNKNOWN) };
    await expect(store.open(UNKNOWN)).rejects.toMatchObject(missing);
    await expect(store.verify(UNKNOWN)).rejects.toMatchObject(missing);
  });

  it.each(['sha256:../../x', 'sha256:ABC', `md5:${'0'.repeat(64)}`, ''])(
    'has a digest of one form only: %j is none',
    async (digest) => {
      await expect(store.has(digest)).rejects.toMatchObject({ code: 'SLIPWAY_ARTIFACT_NOT_FOUND' });
    },
  );
});

describe('a record', () => {
  it('is given back as it was put; the last one counts', async () => {
    await store.putRecord('staging/1.json', { outcome: 'errored' });
    await store.putRecord('staging/1.json', { outcome: 'released', reasons: [] });
    expect(await store.getRecord('staging/1.json')).toEqual({ outcome: 'released', reasons: [] });
  });

  it('that is not there is undefined', async () => {
    expect(await store.getRecord('staging/none.json')).toBeUndefined();
  });

  it('is listed by its name, sorted, all or by prefix', async () => {
    for (const name of ['staging/2.json', 'production/1.json', 'staging/1.json']) {
      await store.putRecord(name, {});
    }
    expect(await store.listRecords()).toEqual(['production/1.json', 'staging/1.json', 'staging/2.json']);
    expect(await store.listRecords('staging/')).toEqual(['staging/1.json', 'staging/2.json']);
  });

  it('is not there in an empty store', async () => {
    expect(await store.listRecords()).toEqual([]);
  });

  it('stays in the store whatever it is called', async () => {
    await store.putRecord('a target:ä\\..\\x/1.json', { kept: true });
    expect(await store.listRecords()).toEqual(['a target:ä\\..\\x/1.json']);
    expect(await store.getRecord('a target:ä\\..\\x/1.json')).toEqual({ kept: true });
    for (const name of ['../outside.json', 'a//b', './a', '']) {
      await expect(store.putRecord(name, {})).rejects.toThrow(TypeError);
    }
    expect((await readdir(folder)).sort()).toEqual(['source.tar.gz', 'store']);
  });
});

describe('a store', () => {
  it('is opened by a path or a file: URL', () => {
    expect(store.url).toBe(pathToFileURL(join(folder, 'store')).href);
    expect(openArtifactStore(store.url).url).toBe(store.url);
  });

  it('of another kind is refused', () => {
    expect(() => openArtifactStore('s3://bucket')).toThrow(
      expect.objectContaining({ code: 'SLIPWAY_CONFIG_INVALID', message: expect.stringContaining('"s3:"') }),
    );
  });

  it('that cannot be written says so', async () => {
    await mkdir(join(folder, 'blocked'));
    await writeFile(join(folder, 'blocked/artifacts'), 'a file where a folder belongs');
    const blocked = openArtifactStore(join(folder, 'blocked'));
    await expect(blocked.put(file, DIGEST)).rejects.toMatchObject({
      code: 'SLIPWAY_ARTIFACT_STORE_UNAVAILABLE',
      place: join(folder, 'blocked'),
    });
    expect(await readFile(join(folder, 'blocked/artifacts'), 'utf8')).toContain('a file');
  });
});

async function storedFiles(): Promise<string[]> {
  const found = await readdir(join(folder, 'store'), { recursive: true, withFileTypes: true });
  return found.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}
