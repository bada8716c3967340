import { WorkflowNotFoundError } from '@temporalio/client';
import { defaultPayloadConverter } from '@temporalio/common';
import { describe, expect, it } from 'vitest';

import { openArtifactStore } from '../../../src/artifact/openArtifactStore.ts';
import { findRelease } from '../../../src/inspection/release/findRelease.ts';
import type { TemporalConnection } from '../../../src/temporal/client/connection.ts';
import type { ReleaseRecord, ReleaseResult } from '../../../src/domain/release/release.ts';
import { recordResult } from '../../../src/domain/target/targetResult.ts';
import { submitRelease } from '../../../src/domain/target/targetQueue.ts';
import { sampleResult } from '../../cli/ui/sampleProgress.ts';
import { NOW, request, result, seasoned } from '../../domain/target/targets.ts';
import { answeringTemporal, grpcError, pinnedTo } from '../../temporal/client/answeringTemporal.ts';
import { useFolders } from '../../support/temporaryFolder.ts';

const folder = useFolders();

// The server's error for a missing history.
const fetchHistory = (): never => {
  throw grpcError('NOT_FOUND');
};

function forgetful(): TemporalConnection {
  const gone = (): Promise<never> => Promise.reject(new WorkflowNotFoundError('gone', 'w', undefined));
  return answeringTemporal({ workflow: { getHandle: () => ({ fetchHistory, describe: gone }) } });
}

const target = { name: 'production', workflowId: 'target:http://127.0.0.1:1:greeter' };

function recorded(release: Partial<ReleaseResult>): ReleaseRecord {
  const ended = sampleResult(release);
  return { ...ended, workflowId: `${target.workflowId}/${ended.releaseId}` };
}

describe('a release that Temporal no longer has', () => {
  it.each(['release-1', 'latest'])('is read from its record, by %s', async (wanted) => {
    const store = openArtifactStore(folder());
    await store.putRecord(
      'production/2026-11-21T11-00-00-000Z-release-11.json',
      recorded({ releaseId: 'release-11' }),
    );
    await store.putRecord('production/2026-11-21T12-00-00-000Z-release-1.json', recorded({}));
    const found = await findRelease(forgetful(), store, target, wanted);
    expect(found).toMatchObject({ from: 'record', past: { releaseId: 'release-1', outcome: 'released' } });
  });

  it('is not read from the record of another project’s target with the same name', async () => {
    const store = openArtifactStore(folder());
    const put = (time: string, targetId: string, reason: string) =>
      store.putRecord(`production/${time}-release-1.json`, {
        ...sampleResult({ releaseId: 'release-1', reason }),
        workflowId: `${targetId}/release-1`,
      });
    await put('1', target.workflowId, 'ours');
    await put('2', 'target:http://127.0.0.1:1:billing', 'theirs');
    for (const wanted of ['release-1', 'latest'])
      expect(await findRelease(forgetful(), store, target, wanted)).toMatchObject({
        result: { reason: 'ours' },
      });
  });

  it('is unknown without a record', async () => {
    await expect(
      findRelease(forgetful(), openArtifactStore(folder()), target, 'release-1'),
    ).rejects.toMatchObject({ code: 'SLIPWAY_RELEASE_UNKNOWN', hint: 'it has never taken one' });
  });

  it('is unknown beside others with records, which the error names', async () => {
    const store = openArtifactStore(folder());
    for (const [time, releaseId] of ['release-1', 'rollback-2'].entries())
      await store.putRecord(`production/${time}-${releaseId}.json`, recorded({ releaseId }));
    await expect(findRelease(forgetful(), store, target, 'release-9')).rejects.toMatchObject({
      hint: expect.stringContaining('rollback-2, release-1;') as string,
    });
  });

  it('is read from the row of its target, if the record of its name is of another release', async () => {
    const store = openArtifactStore(folder());
    const other = { startedAt: '2025-12-31T12:00:00.000Z', reason: 'on the deployment before' };
    await store.putRecord('production/1-release-1.json', recorded({ releaseId: 'release-1', ...other }));
    await store.putRecord('production/1-release-2.json', recorded({ releaseId: 'release-2', ...other }));
    const released = recordResult(seasoned(), result('release-1'), 0);
    const hold = { since: NOW, by: { who: 'ada', from: 'cli' } };
    const { state } = submitRelease({ ...released, hold }, null, request('b'), NOW);
    const query = () => Promise.resolve({ state, running: null });
    const describe = () => Promise.resolve({ status: { name: 'RUNNING' } });
    const temporal = answeringTemporal({
      workflow: { getHandle: () => ({ fetchHistory, describe, query }) },
    });
    const find = (releaseId: string) => findRelease(temporal, store, target, releaseId);
    expect(await find('release-1')).toMatchObject({ from: 'target', past: { reason: 'all went well' } });
    expect(await find('release-2')).toMatchObject({ from: 'target', past: { outcome: 'rejected' } });
    await store.putRecord('production/0-release-1.json', recorded(result('release-1')));
    expect(await find('release-1')).toMatchObject({ from: 'record', past: { reason: 'all went well' } });
  });
});

it('a running release that does not answer has the reason, if its version has no workers', async () => {
  const payloads = [defaultPayloadConverter.toPayload({ request: request('a'), known: [] })];
  const started = { workflowType: { name: 'release' }, input: { payloads } };
  const events = [{ eventTime: { seconds: 1 }, workflowExecutionStartedEventAttributes: started }];
  const stranded = {
    fetchHistory: () => Promise.resolve({ events }),
    describe: () => Promise.resolve(pinnedTo('v9')),
    query: () => Promise.reject(grpcError('FAILED_PRECONDITION')),
  };
  const temporal = answeringTemporal({ workflow: { getHandle: () => stranded } });
  const says = expect.stringContaining('no worker of version v9 polls') as string;
  expect(await findRelease(temporal, undefined, target, 'release-1')).toMatchObject({
    past: { outcome: 'running' },
    call: { says },
  });
});
