import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { openArtifactStore } from '../../../src/artifact/openArtifactStore.ts';
import type { ReleaseResult } from '../../../src/domain/release/release.ts';
import { activitiesUnderTest, failureOf } from '../activitiesUnderTest.ts';
import { useFolders } from '../../support/temporaryFolder.ts';

const RESULT = {
  releaseId: 'r-1',
  target: 'production',
  startedAt: '2026-11-21T10:00:00.250Z',
  outcome: 'released',
  knownRevisions: [],
} as unknown as ReleaseResult;
const LOCATION = 'production/2026-11-21T10-00-00-250Z-r-1.json';

const folder = useFolders();

describe('recordRelease', () => {
  it('writes the whole result and the release’s workflow under the target’s name, the time and the release’s id', async () => {
    const workflowId = 'target:http://127.0.0.1:1:greeter/r-1';
    const activities = activitiesUnderTest({ workflowExecution: { workflowId, runId: 'run' } });
    expect(await activities.recordRelease({ store: folder(), result: RESULT, passed: [] })).toEqual({
      location: LOCATION,
      digests: [],
      attempt: 1,
    });
    expect(await openArtifactStore(folder()).getRecord(LOCATION)).toEqual({ ...RESULT, workflowId });
  });

  it('writes one record, even if it runs several times', async () => {
    const activities = activitiesUnderTest();
    await activities.recordRelease({ store: folder(), result: RESULT, passed: [] });
    await activities.recordRelease({ store: folder(), result: RESULT, passed: [] });
    expect(await openArtifactStore(folder()).listRecords()).toEqual([LOCATION]);
  });

  it('is retried if the store is unavailable', async () => {
    const store = join(folder(), 'a file');
    await writeFile(store, 'where a folder should be');
    const failure = await failureOf(
      activitiesUnderTest().recordRelease({ store, result: RESULT, passed: [] }),
    );
    expect(failure).toMatchObject({ type: 'SLIPWAY_ARTIFACT_STORE_UNAVAILABLE', nonRetryable: false });
  });
});

describe('the checks that a revision passed', () => {
  const CHECKS = [
    { name: 'greets', assistant: 'a', input: {}, expect: { contains: 'hello' }, timeoutMs: 1_000 },
  ];
  const PASSED = {
    ...RESULT,
    knownRevisions: [{ revisionId: 'r1', verified: true, at: RESULT.startedAt }],
  } as unknown as ReleaseResult;
  const keep = (times = 1) => {
    const input = { store: folder(), result: PASSED, passed: [{ revisionId: 'r1', checks: CHECKS }] };
    const activities = activitiesUnderTest();
    return Promise.all(Array.from({ length: times }, () => activities.recordRelease(input)));
  };

  it('are kept with the record, once under their digest, which the record names', async () => {
    const [first] = await keep(2);
    const [digest = ''] = first?.digests ?? [];
    const store = openArtifactStore(folder());
    const name = `_checks/${digest.slice('sha256:'.length)}.json`;
    expect(await store.listRecords()).toEqual([name, LOCATION].sort());
    expect(await store.getRecord(LOCATION)).toMatchObject({ knownRevisions: [{ checks: digest }] });
    expect((await activitiesUnderTest().readChecks({ store: folder(), digest })).checks).toEqual(CHECKS);
  });

  it('cannot be read if they are missing, or do not match their digest', async () => {
    const [first] = await keep();
    const [digest = ''] = first?.digests ?? [];
    const read = () => failureOf(activitiesUnderTest().readChecks({ store: folder(), digest }));
    const store = openArtifactStore(folder());
    await store.putRecord(`_checks/${digest.slice('sha256:'.length)}.json`, []);
    expect(await read()).toMatchObject({ type: 'SLIPWAY_RECORD_UNREADABLE', nonRetryable: true });
    await rm(folder(), { recursive: true });
    expect(await read()).toMatchObject({ type: 'SLIPWAY_RECORD_UNREADABLE', nonRetryable: true });
  });
});
