import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { type FileHandle, mkdir, open, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { pathToFileURL } from 'node:url';

import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';

import {
  artifactPath,
  type ArtifactStore,
  keepChecks,
  readKeptChecks,
} from '../../src/artifact/artifactStore.ts';
import { openArtifactStore } from '../../src/artifact/openArtifactStore.ts';
import { STORE_KINDS, type StoreKind } from './storeKinds.ts';
import { useFolders } from '../support/temporaryFolder.ts';

const CONTENT = 'the bytes of an artifact';
const DIGEST = `sha256:${createHash('sha256').update(CONTENT).digest('hex')}`;
const CHECK = {
  name: 'greets',
  assistant: 'agent',
  input: {},
  expect: { contains: 'Hello' },
  timeoutMs: 1_000,
};
const UNKNOWN = `sha256:${'0'.repeat(64)}`;

const folder = useFolders();
let file: string;

beforeEach(async () => {
  file = join(folder(), 'source.tar.gz');
  await writeFile(file, CONTENT);
});

describe.each(STORE_KINDS)('in %s', (_, openKind) => {
  let kind: StoreKind;
  let place: string;
  let store: ArtifactStore;

  beforeAll(async () => {
    kind = await openKind();
  });
  beforeEach(async () => {
    place = await kind.fresh();
    store = openArtifactStore(place);
  });
  afterAll(() => kind.close());

  describe('an artifact', () => {
    it('is returned as it was stored, by the store’s URL too', async () => {
      await store.put(file, DIGEST);
      const { stream, sizeBytes } = await openArtifactStore(store.url).open(DIGEST);
      expect((await buffer(stream)).toString()).toBe(CONTENT);
      expect(sizeBytes).toBe(CONTENT.length);
    });

    it('exists after it was stored', async () => {
      expect(await store.has(DIGEST)).toBe(false);
      await store.put(file, DIGEST);
      expect(await store.has(DIGEST)).toBe(true);
      expect(await kind.stored(place)).toEqual([artifactPath(DIGEST)]);
    });

    it('can be stored again, and by two at the same time', async () => {
      await Promise.all([store.put(file, DIGEST), store.put(file, DIGEST)]);
      await store.put(file, DIGEST);
      await store.verify(DIGEST);
      expect((await kind.stored(place)).length).toBe(1);
    });

    it('may be empty', async () => {
      await writeFile(file, '');
      const digest = `sha256:${createHash('sha256').digest('hex')}`;
      await store.put(file, digest);
      expect((await buffer((await store.open(digest)).stream)).length).toBe(0);
    });

    it('is rejected if it does not match its digest, and leaves no files', async () => {
      await expect(store.put(file, UNKNOWN)).rejects.toMatchObject({ code: 'SLIPWAY_ARTIFACT_CORRUPT' });
      expect(await store.has(UNKNOWN)).toBe(false);
      expect(await kind.stored(place)).toEqual([]);
    });

    it('that is damaged is detected by verifying and by reading, and repaired by storing it again', async () => {
      await store.put(file, DIGEST);
      await kind.overwrite(place, artifactPath(DIGEST), 'the bytes of an artefact');
      await expect(store.verify(DIGEST)).rejects.toMatchObject({ code: 'SLIPWAY_ARTIFACT_CORRUPT' });
      const { stream } = await store.open(DIGEST);
      await expect(buffer(stream)).rejects.toMatchObject({ code: 'SLIPWAY_ARTIFACT_CORRUPT' });
      await store.put(file, DIGEST);
      await store.verify(DIGEST);
    });

    it('that is damaged is never returned completely, so that no caller can use it', async () => {
      await kind.overwrite(place, artifactPath(DIGEST), Buffer.alloc(700_000, 'x'));
      const { stream, sizeBytes } = await store.open(DIGEST);
      let given = 0;
      const reading = (async () => {
        for await (const chunk of stream) given += (chunk as Buffer).length;
      })();
      await expect(reading).rejects.toMatchObject({ code: 'SLIPWAY_ARTIFACT_CORRUPT' });
      expect(sizeBytes).toBe(700_000);
      expect(given).toBeLessThan(sizeBytes);
    });

    it('that is missing is reported with the store', async () => {
      const missing = {
        code: 'SLIPWAY_ARTIFACT_NOT_FOUND',
        message: expect.stringContaining(UNKNOWN),
        place: store.url,
      };
      await expect(store.open(UNKNOWN)).rejects.toMatchObject(missing);
      await expect(store.verify(UNKNOWN)).rejects.toMatchObject(missing);
    });

    it.each(['sha256:../../x', 'sha256:ABC', `md5:${'0'.repeat(64)}`, ''])(
      'accepts one form of digest: %j is rejected',
      async (digest) => {
        await expect(store.has(digest)).rejects.toMatchObject({ code: 'SLIPWAY_ARTIFACT_NOT_FOUND' });
      },
    );

    it('may be opened and left unread', async () => {
      await store.put(file, DIGEST);
      const { stream } = await store.open(DIGEST);
      await once(stream.destroy(), 'close');
      expect(await store.has(DIGEST)).toBe(true);
    });

    it('is not stored after a cancellation', async () => {
      await expect(store.put(file, DIGEST, AbortSignal.abort())).rejects.toThrow('aborted');
      expect(await kind.stored(place)).toEqual([]);
    });
  });

  describe('a record', () => {
    it('is returned as it was stored; the last one counts', async () => {
      await store.putRecord('staging/1.json', { outcome: 'errored' });
      await store.putRecord('staging/1.json', { outcome: 'released', reasons: [] });
      expect(await store.getRecord('staging/1.json')).toEqual({ outcome: 'released', reasons: [] });
    });

    it('is listed by its name, sorted, all or by prefix', async () => {
      for (const name of ['staging/2.json', 'production/1.json', 'staging/1.json']) {
        await store.putRecord(name, {});
      }
      expect(await store.listRecords()).toEqual(['production/1.json', 'staging/1.json', 'staging/2.json']);
      expect(await store.listRecords('staging/')).toEqual(['staging/1.json', 'staging/2.json']);
    });

    it('is gone after its removal, which may be repeated', async () => {
      await store.putRecord('_identities/1', { token: 'x' });
      await store.putRecord('staging/1.json', {});
      for (let times = 0; times < 2; times += 1) await store.removeRecord('_identities/1');
      expect(await store.getRecord('_identities/1')).toBeUndefined();
      expect(await store.listRecords()).toEqual(['staging/1.json']);
    });

    it('is never a file with a name that Slipway does not write', async () => {
      await store.putRecord('staging/1.json', {});
      await kind.overwrite(place, 'records/staging/100%.json', '{}');
      expect(await store.listRecords()).toEqual(['staging/1.json']);
    });

    it('that is damaged is reported by its name', async () => {
      await kind.overwrite(place, 'records/staging/1.json', '{ "outcome": "rel');
      await expect(store.getRecord('staging/1.json')).rejects.toMatchObject({
        code: 'SLIPWAY_RECORD_UNREADABLE',
        message: 'the record staging/1.json is not JSON',
        place: store.url,
      });
    });

    it.each(['[{ "name": "greets"', '[]'])('of checks is repaired when they pass again: %s', async (text) => {
      const digest = await keepChecks(store, [CHECK]);
      const [path = ''] = await kind.stored(place);
      await kind.overwrite(place, path, text);
      await expect(readKeptChecks(store, digest)).rejects.toMatchObject({
        code: 'SLIPWAY_RECORD_UNREADABLE',
      });
      await keepChecks(store, [CHECK]);
      expect(await readKeptChecks(store, digest)).toEqual([CHECK]);
    });

    it('stays in the store under any name', async () => {
      await store.putRecord('a target:ä\\..\\x/1.json', { kept: true });
      expect(await store.listRecords()).toEqual(['a target:ä\\..\\x/1.json']);
      expect(await store.listRecords('a target:ä')).toEqual(['a target:ä\\..\\x/1.json']);
      expect(await store.getRecord('a target:ä\\..\\x/1.json')).toEqual({ kept: true });
      for (const name of ['../outside.json', 'a//b', './a', '']) {
        await expect(store.putRecord(name, {})).rejects.toThrow(TypeError);
      }
      expect(await kind.stored(place)).toEqual(['records/a%20target%3A%C3%A4%5C..%5Cx/1.json']);
    });
  });

  describe('a removable artifact', () => {
    const OTHER = `sha256:${createHash('sha256').update('others').digest('hex')}`;
    const LONG_AGO = new Date('2026-01-01T00:00:00.000Z');

    it('is listed with its size and its time', async () => {
      const before = Date.now();
      await store.put(file, DIGEST);
      await writeFile(file, 'others');
      await store.put(file, OTHER);
      const listed = await store.listArtifacts();
      expect(listed.map(({ digest, sizeBytes }) => ({ digest, sizeBytes }))).toEqual(
        [
          { digest: DIGEST, sizeBytes: CONTENT.length },
          { digest: OTHER, sizeBytes: 6 },
        ].sort((one, other) => (one.digest < other.digest ? -1 : 1)),
      );
      for (const { putAt } of listed) expect(Math.abs(Date.parse(putAt) - before)).toBeLessThan(60_000);
    });

    it('is never a record or a foreign file', async () => {
      expect(await store.listArtifacts()).toEqual([]);
      await store.putRecord('staging/1.json', {});
      const digits = DIGEST.slice('sha256:'.length);
      for (const path of [
        `artifacts/sha256/00/${digits}.tar.gz`,
        `artifacts/sha256/${digits.slice(0, 2)}/${digits}.tar.gz.0f5c.tmp`,
        'artifacts/sha256/README',
        'artifacts/sha256/00/notes.tar.gz',
      ]) {
        await kind.overwrite(place, path, 'something else');
      }
      expect(await store.listArtifacts()).toEqual([]);
    });

    it('is gone after its removal, which may be repeated', async () => {
      await store.put(file, DIGEST);
      const [{ putAt } = { putAt: '' }] = await store.listArtifacts();
      expect(await store.removeArtifact(DIGEST, putAt)).toBe(true);
      expect(await store.has(DIGEST)).toBe(false);
      expect(await kind.stored(place)).toEqual([]);
      expect(await store.removeArtifact(DIGEST, putAt)).toBe(true);
      await store.put(file, DIGEST);
      await store.verify(DIGEST);
    });

    it('does not include the records, kept checks and answers', async () => {
      const digest = await keepChecks(store, [CHECK]);
      const answer = `_answers/${DIGEST.slice('sha256:'.length)}.json`;
      await store.putRecord(answer, 'an answer');
      await store.put(file, DIGEST);
      for (const held of await store.listArtifacts()) await store.removeArtifact(held.digest, held.putAt);
      expect(await store.listArtifacts()).toEqual([]);
      expect(await readKeptChecks(store, digest)).toEqual([CHECK]);
      expect(await store.getRecord(answer)).toBe('an answer');
    });

    it('stays if it was uploaded again meanwhile, even unchanged', async ({ skip }) => {
      if (kind.age === undefined) return skip('this server lets nobody set when something was put');
      await store.put(file, DIGEST);
      await kind.age(place, artifactPath(DIGEST), LONG_AGO);
      expect(await store.listArtifacts()).toMatchObject([{ putAt: LONG_AGO.toISOString() }]);
      await store.put(file, DIGEST);
      expect(await store.removeArtifact(DIGEST, LONG_AGO.toISOString())).toBe(false);
      await store.verify(DIGEST);
      const [{ putAt } = { putAt: '' }] = await store.listArtifacts();
      expect(Date.parse(putAt)).toBeGreaterThan(LONG_AGO.getTime());
    });
  });
});

describe('a store', () => {
  it('is a folder if it is a path', () => {
    expect(openArtifactStore(join(folder(), 'store')).url).toBe(pathToFileURL(join(folder(), 'store')).href);
  });

  it.each(['gs://bucket', 's3://key:secret@bucket', 's3:bucket'])(
    'of another kind is rejected: %s',
    (url) => {
      let thrown: unknown;
      try {
        openArtifactStore(url);
      } catch (error) {
        thrown = error;
      }
      expect(thrown).toMatchObject({ code: 'SLIPWAY_CONFIG_INVALID', place: 'artifact.store' });
      expect(String(thrown)).not.toContain('secret');
    },
  );

  it('may be in a file system in which folders cannot be synced', async () => {
    const handle = await open(file);
    const handles = Object.getPrototypeOf(handle) as FileHandle;
    await handle.close();
    const inFolders = vi.spyOn(handles, 'sync').mockImplementation(async function (this: FileHandle) {
      if ((await this.stat()).isFile()) return;
      throw Object.assign(new Error('EINVAL: invalid argument, fsync'), { code: 'EINVAL', syscall: 'fsync' });
    });
    onTestFinished(() => inFolders.mockRestore());
    const shared = openArtifactStore(join(folder(), 'shared'));
    await shared.put(file, DIGEST);
    await shared.verify(DIGEST);
    expect(inFolders).toHaveBeenCalledTimes(2);
  });

  it('that cannot be written reports it', async () => {
    await mkdir(join(folder(), 'blocked'));
    await writeFile(join(folder(), 'blocked/artifacts'), 'a file where a folder belongs');
    const blocked = openArtifactStore(join(folder(), 'blocked'));
    await expect(blocked.put(file, DIGEST)).rejects.toMatchObject({
      code: 'SLIPWAY_ARTIFACT_STORE_UNAVAILABLE',
      place: join(folder(), 'blocked'),
    });
    expect(await readFile(join(folder(), 'blocked/artifacts'), 'utf8')).toContain('a file');
  });
});
