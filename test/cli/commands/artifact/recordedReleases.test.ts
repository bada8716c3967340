import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { openArtifactStore } from '../../../../src/artifact/openArtifactStore.ts';
import { recordedReleases } from '../../../../src/cli/commands/artifact/recordedReleases.ts';
import { result } from '../../../domain/target/targets.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'slipway-records-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

describe('the releases that records tell of', () => {
  it('are those of tarballs, on every target', async () => {
    const store = openArtifactStore(folder);
    await store.putRecord('staging/1.json', result('release-1', { target: 'staging', artifact: 'sha256:a' }));
    await store.putRecord(
      'production/2.json',
      result('release-2', { artifact: 'sha256:b', outcome: 'failed' }),
    );
    await store.putRecord('staging/3.json', result('release-3', { artifact: 'registry/agent:1' }));
    await store.putRecord('staging/4.json', result('rollback-4', { artifact: null }));
    await store.putRecord('_promotions/night/1.json', { outcome: 'released' });
    await store.putRecord('judgements/1/report.json', {});
    await store.putRecord('_checks/0123.json', []);
    const found = await recordedReleases(store);
    expect(found.toSorted((one, other) => one.releaseId.localeCompare(other.releaseId))).toEqual([
      expect.objectContaining({ target: 'staging', artifact: 'sha256:a', released: true }),
      expect.objectContaining({ target: 'production', artifact: 'sha256:b', released: false }),
    ]);
  });

  it.each([
    ['is no JSON', '{"target": "sta'],
    ['is no object', '7'],
    ['is none of a release', '{"note": "mine"}'],
  ])('are not told where one %s: it is named', async (_, text) => {
    const file = join(folder, 'records/staging/1.json');
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, text);
    await expect(recordedReleases(openArtifactStore(folder))).rejects.toMatchObject({
      code: 'SLIPWAY_RECORD_UNREADABLE',
      message: expect.stringContaining('staging/1.json'),
    });
  });
});
