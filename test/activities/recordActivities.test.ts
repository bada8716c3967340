import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { openArtifactStore } from '../../src/artifact/artifactStore.ts';
import type { ReleaseResult } from '../../src/domain/release.ts';
import { activitiesUnderTest, failureOf } from './activitiesUnderTest.ts';

const RESULT = {
  releaseId: 'r-1',
  target: 'production',
  startedAt: '2026-11-21T10:00:00.250Z',
  outcome: 'released',
} as ReleaseResult;
const LOCATION = 'production/2026-11-21T10-00-00-250Z-r-1.json';

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'slipway-record-'));
});

afterEach(() => rm(folder, { recursive: true, force: true }));

describe('recordRelease', () => {
  it('writes the whole result under the target’s name, the time and the release’s id', async () => {
    const activities = activitiesUnderTest();
    expect(await activities.recordRelease({ store: folder, result: RESULT })).toEqual({
      location: LOCATION,
      attempt: 1,
    });
    expect(await openArtifactStore(folder).getRecord(LOCATION)).toEqual(RESULT);
  });

  it('writes one record however often it is asked to', async () => {
    const activities = activitiesUnderTest();
    await activities.recordRelease({ store: folder, result: RESULT });
    await activities.recordRelease({ store: folder, result: RESULT });
    expect(await openArtifactStore(folder).listRecords()).toEqual([LOCATION]);
  });

  it('is tried again where the store is away', async () => {
    const store = join(folder, 'a file');
    await writeFile(store, 'where a folder should be');
    const failure = await failureOf(activitiesUnderTest().recordRelease({ store, result: RESULT }));
    expect(failure).toMatchObject({ type: 'SLIPWAY_ARTIFACT_STORE_UNAVAILABLE', nonRetryable: false });
  });
});
