import { randomUUID } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { keepChecks } from '../../../../src/artifact/artifactStore.ts';
import { openArtifactStore } from '../../../../src/artifact/openArtifactStore.ts';
import {
  type Pruned,
  prunedLines,
  recordedReleases,
  removeLeft,
  restorableDatasets,
  sumLine,
  sumOf,
} from '../../../../src/cli/commands/artifact/prune.ts';
import { styleOf } from '../../../../src/cli/ui/text.ts';
import type { Check } from '../../../../src/domain/check/check.ts';
import type { CheckVerdict, ReleaseRecord } from '../../../../src/domain/release/release.ts';
import { newProofName } from '../../../../src/identity/proof.ts';
import { result } from '../../../domain/target/targets.ts';
import { useFolders } from '../../../support/temporaryFolder.ts';

const NOW = Date.parse('2026-06-01T12:00:00.000Z');
const SCREEN = { now: NOW, style: styleOf(false), columns: Infinity };

function pruned(digits: string, change: Partial<Pruned>): Pruned {
  const digest = `sha256:${digits.padEnd(64, '0')}`;
  return {
    artifact: { digest, sizeBytes: 5_000, putAt: '2026-03-01T12:00:00.000Z' },
    last: {
      target: 'staging',
      targetId: 'target:http://one:staging',
      releaseId: 'release-3',
      artifact: digest,
      datasets: [],
      released: true,
      endedAt: '2026-03-02T12:00:00.000Z',
    },
    kept: [],
    state: 'removed',
    ...change,
  };
}

const PRUNED = [
  pruned('5068ba98bbac', { state: 'kept', kept: ['serves on staging', 'verified on staging'] }),
  pruned('5f63285c3128', {}),
  pruned('99aa00000001', { last: null }),
];

const folder = useFolders();

function record(releaseId: string, changes: Partial<ReleaseRecord> = {}): ReleaseRecord {
  const workflowId = `target:http://one:agent/${releaseId}`;
  return { ...result(releaseId), workflowId, ...changes };
}

it.each([
  ['proofs', 'proofs of identity that were unused for a week', newProofName, 7],
  [
    'rows',
    'rows of canceled datasets after 30 days',
    () => `_rows_under_way/${randomUUID()}/000000.json`,
    30,
  ],
] as const)(
  'removes left %s: %s, and no other record, and names damaged ones',
  async (what, _, newName, days) => {
    const store = openArtifactStore(folder());
    const ago = (age: number) => new Date(Date.now() - age * 24 * 3_600_000).toISOString();
    const [old, young] = [newName(), newName()];
    await store.putRecord(old, { at: ago(days + 1) });
    await store.putRecord(young, { at: ago(days - 1) });
    await store.putRecord('production/1.json', { at: ago(days + 1) });
    const damaged = newName();
    await mkdir(dirname(join(folder(), 'records', damaged)), { recursive: true });
    await writeFile(join(folder(), 'records', damaged), '{"at": "20');
    const all = await store.listRecords();
    const unreadable: string[] = [];
    expect(await removeLeft(store, what, true, unreadable)).toBe(1);
    expect(await store.listRecords()).toEqual(all);
    expect(await removeLeft(store, what, false, unreadable)).toBe(1);
    expect(await store.listRecords()).toEqual([damaged, young, 'production/1.json'].toSorted());
    expect(unreadable).toEqual([damaged, damaged]);
  },
);

describe('the result of a prune', () => {
  it('is a table: removed artifacts, then kept ones, with reasons', () => {
    expect(prunedLines(PRUNED, SCREEN)).toEqual([
      'ARTIFACT             SIZE  PUT          LAST RELEASED                      STATE    WHY',
      'sha256:5f63285c3128  5 KB  92 days ago  release-3 on staging, 91 days ago  removed  not needed',
      'sha256:99aa00000001  5 KB  92 days ago  -                                  removed  not needed',
      'sha256:5068ba98bbac  5 KB  92 days ago  release-3 on staging, 91 days ago  kept     serves on staging, and 1 more',
    ]);
  });

  it('is empty if the store is empty', () => {
    expect(prunedLines([], SCREEN)).toEqual([]);
    expect(sumLine([], 's3://bucket', false)).toBe('0 of 0 artifacts removed, 0 KB: s3://bucket');
  });

  it('has a summary, also for a dry run', () => {
    expect(sumOf(PRUNED)).toEqual({ kept: 1, removed: 2, bytesFreed: 10_000 });
    const planned = PRUNED.map((one) =>
      one.state === 'removed' ? { ...one, state: 'would_go' as const } : one,
    );
    expect(sumLine(planned, 's3://bucket', true)).toBe(
      '2 of 3 artifacts would be removed, 10 KB: s3://bucket',
    );
  });
});

describe('the releases in the records', () => {
  it('are those of tarballs, on every target', async () => {
    const store = openArtifactStore(folder());
    await store.putRecord('staging/1.json', record('release-1', { target: 'staging', artifact: 'sha256:a' }));
    await store.putRecord(
      'production/2.json',
      record('release-2', { artifact: 'sha256:b', outcome: 'failed' }),
    );
    await store.putRecord('staging/3.json', record('release-3', { artifact: 'registry/agent:1' }));
    await store.putRecord('staging/4.json', record('rollback-4', { artifact: null }));
    await store.putRecord('_promotions/night/1.json', { outcome: 'released' });
    await store.putRecord('judgements/1/report.json', {});
    await store.putRecord('_checks/0123.json', []);
    const found = await recordedReleases(store);
    expect(found.toSorted((one, other) => one.releaseId.localeCompare(other.releaseId))).toEqual([
      expect.objectContaining({
        target: 'staging',
        targetId: 'target:http://one:agent',
        artifact: 'sha256:a',
        released: true,
      }),
      expect.objectContaining({ target: 'production', artifact: 'sha256:b', released: false }),
    ]);
  });

  it('name the datasets that their checks asked, also those of images', async () => {
    const store = openArtifactStore(folder());
    const asked = (...digests: readonly string[]) =>
      digests.map((digest) => ({ check: 'rows', dataset: { digest } }) as unknown as CheckVerdict);
    const ofImage = { artifact: 'registry/agent:1', verdicts: asked('sha256:c') };
    await store.putRecord(
      'staging/1.json',
      record('release-1', { artifact: 'sha256:a', verdicts: asked('sha256:b', 'sha256:c', 'sha256:b') }),
    );
    await store.putRecord('staging/2.json', record('release-2', ofImage));
    const found = await recordedReleases(store);
    expect(found.map(({ releaseId, datasets }) => [releaseId, datasets]).toSorted()).toEqual([
      ['release-1', ['sha256:b', 'sha256:c']],
      ['release-2', ['sha256:c']],
    ]);
  });

  it.each([
    ['is no JSON', '{"target": "sta'],
    ['is no object', '7'],
    ['is none of a release', '{"note": "mine"}'],
  ])('are incomplete if one %s: the error names it', async (_, text) => {
    const file = join(folder(), 'records/staging/1.json');
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, text);
    await expect(recordedReleases(openArtifactStore(folder()))).rejects.toMatchObject({
      code: 'SLIPWAY_RECORD_UNREADABLE',
      message: expect.stringContaining('staging/1.json'),
    });
  });
});

describe('the datasets of revisions that may be restored', () => {
  const over = (digest: string): Check => ({
    ...{ name: digest, assistant: 'agent', input: {}, expect: {}, timeoutMs: 1_000 },
    dataset: { digest, of: 9, rows: 9, seed: 0, concurrency: 1 },
  });

  it('are those of the checks that the revisions passed', async () => {
    const store = openArtifactStore(folder());
    const checks = await Promise.all([
      keepChecks(store, [over('sha256:a'), over('sha256:b')]),
      keepChecks(store, [over('sha256:b')]),
      keepChecks(store, []),
    ]);
    const why = 'a dataset of a check: a revision of staging may be restored';
    expect(await restorableDatasets(store, [{ name: 'staging', checks }])).toEqual([
      { artifact: 'sha256:a', why },
      { artifact: 'sha256:b', why },
    ]);
  });

  it('are unknown if a list of checks is missing: nothing is removed then', async () => {
    const store = openArtifactStore(folder());
    const checks = [`sha256:${'0'.repeat(64)}`];
    await expect(restorableDatasets(store, [{ name: 'staging', checks }])).rejects.toMatchObject({
      code: 'SLIPWAY_RECORD_UNREADABLE',
    });
  });
});
