import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { beforeEach, expect, it } from 'vitest';

import { type ArtifactStore, recordPath, targetRecordName } from '../../../../src/artifact/artifactStore.ts';
import { openArtifactStore } from '../../../../src/artifact/openArtifactStore.ts';
import { recordedRevisions } from '../../../../src/cli/commands/rollback/rollback.ts';
import type { ReleaseResult } from '../../../../src/domain/release/release.ts';
import { EMPTY_TARGET } from '../../../../src/domain/target/targetState.ts';
import { useFolders } from '../../../support/temporaryFolder.ts';
import { sampleResult } from '../../ui/sampleProgress.ts';

const folder = useFolders();
let store: ArtifactStore;
beforeEach(() => {
  store = openArtifactStore(folder());
});

const HERE = 'deployment-1';
const PRODUCTION = { name: 'production', workflowId: 'target:production' };

function record(name: string, result: Partial<ReleaseResult>): Promise<void> {
  const ended = sampleResult({ baseline: null, deploymentId: HERE, ...result });
  return store.putRecord(name, { ...ended, workflowId: `${PRODUCTION.workflowId}/${ended.releaseId}` });
}

async function verdicts(): Promise<readonly (readonly [string, boolean])[]> {
  const known = await recordedRevisions(store, PRODUCTION, HERE);
  return known.map(({ revisionId, verified }) => [revisionId, verified] as const);
}

it('is empty without records', async () => {
  expect(await verdicts()).toEqual([]);
});

it('has the newest verdict on each revision, and counts a failed release as a bad one', async () => {
  const at = '2026-11-21T12:00:00.000Z';
  await record('production/1-release-1.json', {
    revisionId: 'a',
    knownRevisions: [{ revisionId: 'a', verified: true, at }],
  });
  await record('production/2-release-2.json', {
    revisionId: 'b',
    outcome: 'rolled_back',
    knownRevisions: [{ revisionId: 'a', verified: true, at }],
  });
  await record('production/3-release-3.json', {
    revisionId: 'c',
    outcome: 'rolled_back',
    knownRevisions: [{ revisionId: 'a', verified: false, at }],
  });
  await record('staging/1-release-1.json', { revisionId: 'd', outcome: 'failed' });
  expect(await verdicts()).toEqual([
    ['a', false],
    ['b', false],
    ['c', false],
  ]);
});

it('has the revision that served before a release, ahead of the release’s own', async () => {
  const at = '2026-11-21T12:00:00.000Z';
  await record('production/1-release-1.json', {
    revisionId: 'b',
    baseline: { revisionId: 'a', verified: true },
    knownRevisions: [{ revisionId: 'b', verified: true, at }],
  });
  expect(await verdicts()).toEqual([
    ['a', true],
    ['b', true],
  ]);
});

it('has none of another deployment that the target had before', async () => {
  const knownRevisions = [{ revisionId: 'a', verified: true, at: '2026-11-21T12:00:00.000Z' }];
  await record('production/1-release-1.json', {
    deploymentId: 'deployment-0',
    revisionId: 'a',
    knownRevisions,
  });
  expect(await verdicts()).toEqual([]);
});

it('has its own behind any number of newer ones of another target of that name', async () => {
  const knownRevisions = [{ revisionId: 'a', verified: true, at: '2026-11-21T12:00:00.000Z' }];
  await record('production/100-release-1.json', { revisionId: 'a', knownRevisions });
  for (let other = 101; other < 160; other++)
    await record(`production/${other}-release-1.json`, { deploymentId: 'deployment-2', knownRevisions: [] });
  expect(await verdicts()).toEqual([['a', true]]);
});

it('has the quarantines in the target’s stored state, unless that is of another deployment', async () => {
  const at = '2026-11-21T12:00:00.000Z';
  const known = { revisionId: 'b', verified: true, at };
  await record('production/1-release-1.json', { revisionId: 'b', knownRevisions: [known] });
  const keep = (owns: string) =>
    store.putRecord(targetRecordName(PRODUCTION.workflowId), {
      at,
      state: { ...EMPTY_TARGET, owns, known: [{ ...known, quarantined: true }] },
    });
  await keep('deployment-0');
  expect(await recordedRevisions(store, PRODUCTION, HERE)).toEqual([known]);
  await keep(HERE);
  expect(await recordedRevisions(store, PRODUCTION, HERE)).toEqual([{ ...known, quarantined: true }]);
});

it('leaves out what is damaged', async () => {
  const known = { revisionId: 'a', verified: true, at: '2026-11-21T12:00:00.000Z' };
  await record('production/1-release-1.json', { revisionId: 'a', knownRevisions: [known] });
  await record('production/2-release-2.json', { revisionId: 'b' });
  await store.putRecord(targetRecordName(PRODUCTION.workflowId), {});
  for (const name of ['production/2-release-2.json', targetRecordName(PRODUCTION.workflowId)])
    await writeFile(join(folder(), recordPath(name)), '{');
  expect(await verdicts()).toEqual([['a', true]]);
});
