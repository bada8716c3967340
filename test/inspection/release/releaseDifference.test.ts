import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { expect, it } from 'vitest';

import { openArtifactStore } from '../../../src/artifact/openArtifactStore.ts';
import { packSource } from '../../../src/artifact/pack.ts';
import { sourceFiles } from '../../../src/artifact/sourceFiles.ts';
import {
  configurationDifference,
  releaseDifference,
} from '../../../src/inspection/release/releaseDifference.ts';
import type { FoundRelease } from '../../../src/inspection/release/findRelease.ts';
import { pastOfResult } from '../../../src/domain/release/pastRelease.ts';
import type { ReleaseRequest } from '../../../src/domain/release/release.ts';
import { request, result } from '../../domain/target/targets.ts';
import { useFolders } from '../../support/temporaryFolder.ts';

const folder = useFolders();

async function put(name: string, content: string): Promise<string> {
  const root = join(folder(), name);
  await mkdir(root);
  await writeFile(join(root, 'graph.json'), content);
  const packed = await packSource({ root, entries: await sourceFiles(root, []) });
  await openArtifactStore(join(folder(), 'store')).put(packed.file, packed.digest);
  await packed.remove();
  return packed.digest;
}

/** A release of which only the record is left. The record has the beginning of its artifact's digest. */
function recorded(releaseId: string, digest: string): FoundRelease {
  const record = result(releaseId, { artifact: digest.slice(0, 'sha256:'.length + 12) });
  return {
    target: 'production',
    past: pastOfResult(record),
    result: record,
    from: 'record',
    progress: null,
    call: null,
    calls: [],
    request: null,
    workflowUrl: null,
  };
}

it('compares the files of releases that exist only as records', async () => {
  const store = openArtifactStore(join(folder(), 'store'));
  const [from, to] = [
    recorded('release-1', await put('a', '{}')),
    recorded('release-2', await put('b', '[]')),
  ];
  const { files } = await releaseDifference(store, from, to);
  expect(files).toMatchObject({ added: [], removed: [], changed: [{ to: { path: 'graph.json' } }] });
});

it('names an artifact that is no longer in the store', async () => {
  const store = openArtifactStore(join(folder(), 'store'));
  const [kept, pruned] = [await put('a', '{}'), await put('b', '[]')];
  await store.removeArtifact(pruned, new Date().toISOString());
  const { files } = await releaseDifference(
    store,
    recorded('release-1', kept),
    recorded('release-2', pruned),
  );
  expect(files).toBe('release-2: its artifact is not in this artifact store');
});

it.each<[string, Partial<ReleaseRequest>, string]>([
  ['the budget of the checks', { checksBudget: { runs: 9 } }, 'checksBudget.runs'],
  [
    'the guard',
    { guard: { forMs: 1, everyMs: 1, afterMs: 1, noData: 'continue', metrics: [] } },
    'guard.forMs',
  ],
  [
    'the receivers of notices',
    { notify: [{ kind: 'slack', name: 'ops', url: { from: 'env:OPS' } }] },
    'notify',
  ],
])('compares %s', (_, changes, path) => {
  const of = (releaseId: string, changed: Partial<ReleaseRequest>): FoundRelease => ({
    ...recorded(releaseId, `sha256:${'a'.repeat(64)}`),
    request: { ...request('a'.repeat(64)), ...changed },
  });
  const differences = configurationDifference(of('release-1', {}), of('release-2', changes));
  expect(JSON.stringify(differences)).toContain(path);
});

it('finds the rows of a dataset that changed sides', async () => {
  const store = openArtifactStore(join(folder(), 'store'));
  const asked = async (releaseId: string, passed: Readonly<Record<string, boolean>>) => {
    const rows = Object.entries(passed).map(([id, row], index) => ({
      id,
      line: index + 1,
      passed: row,
      reasons: row ? [] : ['the answer is late'],
    }));
    await store.putRecord(`_rows/${releaseId}.json`, { rows });
    const found = recorded(releaseId, await put(releaseId, releaseId));
    const dataset = { results: `_rows/${releaseId}.json`, made: rows.length };
    const verdict = { check: 'trains', revisionId: found.result?.revisionId, dataset };
    return { ...found, result: { ...found.result, verdicts: [verdict] } } as unknown as FoundRelease;
  };
  const from = await asked('release-1', { a: true, b: false, c: true, gone: true });
  const to = await asked('release-2', { c: true, b: true, a: false, added: false });
  const { rows } = await releaseDifference(store, from, to);
  expect(rows).toMatchObject([
    {
      check: 'trains',
      fixed: [{ id: 'b', line: 2 }],
      broken: [{ id: 'a', line: 3, reasons: ['the answer is late'] }],
      onlyFrom: 1,
      onlyTo: 1,
    },
  ]);
});
