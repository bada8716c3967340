import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { beforeEach, describe, expect, it } from 'vitest';

import { type ArtifactStore, recordPath } from '../../../../src/artifact/artifactStore.ts';
import { targetRecordName } from '../../../../src/artifact/targetRecord.ts';
import { openArtifactStore } from '../../../../src/artifact/openArtifactStore.ts';
import { recordedRevisions } from '../../../../src/cli/commands/rollback/rollback.ts';
import type { ReleaseResult } from '../../../../src/domain/release/release.ts';
import { EMPTY_TARGET } from '../../../../src/domain/target/targetState.ts';
import { temporaryFolder } from '../../../support/temporaryFolder.ts';
import { sampleResult } from '../../ui/sampleProgress.ts';

let folder: string;
let store: ArtifactStore;
beforeEach(async () => {
  folder = await temporaryFolder();
  store = openArtifactStore(folder);
});

const HERE = 'deployment-1';
const PRODUCTION = { name: 'production', workflowId: 'target:production' };

function record(name: string, result: Partial<ReleaseResult>): Promise<void> {
  return store.putRecord(name, sampleResult({ baseline: null, deploymentId: HERE, ...result }));
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
    await writeFile(join(folder, recordPath(name)), '{');
  expect(await verdicts()).toEqual([['a', true]]);
});

// Loaded before the 2 s begin.
import '../../../../src/clients/controlPlane.ts';
import { readWhatServes } from '../../../../src/cli/commands/rollback/rollback.ts';
import {
  DEPLOYMENT_ID,
  deploymentAnswer,
  REVISION_ID,
  targetOn,
} from '../../../activities/activitiesUnderTest.ts';
import { json, startService } from '../../../clients/faultyService.ts';
import { testOutput } from '../../testOutput.ts';

/** The timeout of a command's other calls to a control plane. */
const CALL_MS = 15_000;

describe('the serving revision in a person’s rollback request', () => {
  async function read(
    answer: Parameters<typeof startService>[0],
    environment: Readonly<Record<string, string>> = { KEY: 'the-key' },
  ): Promise<string | undefined> {
    const { url } = await startService(answer);
    const target = targetOn(url, { apiKey: { from: 'env:KEY' }, deploymentId: DEPLOYMENT_ID });
    const home = join(tmpdir(), 'slipway-no-such-home');
    return readWhatServes({ output: testOutput(), home, environment }, target);
  }

  it('is the active revision', async () => {
    expect(await read((_, response) => json(response, 200, deploymentAnswer()))).toBe(REVISION_ID);
  });

  it('is omitted if nothing serves, the control plane fails, or the key is not available here', async () => {
    const empty = deploymentAnswer({ active_revision_id: null });
    expect(await read((_, response) => json(response, 200, empty))).toBeUndefined();
    expect(await read((_, response) => json(response, 500, { detail: 'no' }))).toBeUndefined();
    expect(await read((_, response) => json(response, 200, deploymentAnswer()), {})).toBeUndefined();
  });

  it('is omitted after a short timeout if the control plane does not answer', async () => {
    const began = performance.now();
    expect(await read(() => undefined)).toBeUndefined();
    expect(performance.now() - began).toBeLessThan(CALL_MS / 2);
  });
});
