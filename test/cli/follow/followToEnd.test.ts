import { setTimeout as sleep } from 'node:timers/promises';

import { expect, it, vi } from 'vitest';

import { followPromotion } from '../../../src/cli/follow/followPromotion.ts';
import { followToEnd } from '../../../src/cli/follow/followToEnd.ts';
import { SlipwayError } from '../../../src/domain/errors.ts';
import type { TargetSpec } from '../../../src/domain/target/targetSpec.ts';
import type { TemporalConnection } from '../../../src/temporal/client/connection.ts';
import { DEPLOYMENT_ID, REVISION_ID, targetOn } from '../../activities/activitiesUnderTest.ts';
import { json, startService } from '../../clients/faultyService.ts';
import { answeringTemporal, grpcError, pinnedTo } from '../../temporal/client/answeringTemporal.ts';
import { testOutput } from '../testOutput.ts';
import { runningStep, sampleProgress, sampleResult } from '../ui/sampleProgress.ts';

const { signal } = new AbortController();
const output = testOutput();

const sealed = new SlipwayError('SLIPWAY_PAYLOAD_KEY_MISSING', 'the key "2026-12" is missing', {
  hint: 'add it',
});
/** A Temporal whose answers are encrypted with a key that the command does not have. */
const temporal = answeringTemporal({
  workflow: {
    getHandle: () => ({
      describe: () => Promise.resolve({ status: { name: 'RUNNING' } }),
      query: () => Promise.reject(sealed),
    }),
  },
});

const followed = {
  id: 'release-1',
  targetName: 'production',
  spec: {} as TargetSpec,
  workflowId: 'target:x:greeter',
  timeoutMs: 60_000,
};

it.each(['release', 'rollback'] as const)(
  'a followed %s whose answers need a missing key continues: the error says so, and has the exit code 5',
  async (asked) => {
    const session = { output, home: '', environment: {}, temporal, signal };
    const ended = followToEnd(session, { ...followed, asked });
    await expect(ended).rejects.toMatchObject({
      code: 'SLIPWAY_PAYLOAD_KEY_MISSING',
      exitCode: 5,
      message: `the key "2026-12" is missing; the ${asked} continues`,
      hint: 'add it; then: slipway watch production',
    });
  },
);

it.each(['release', 'rollback'] as const)(
  'a followed %s whose revision was not built shows the last lines of its log before it ends',
  async (asked) => {
    const lines = [
      { id: '1', stage: 'build', message: 'no such package', timestamp: '2026-11-21T12:00:00Z' },
    ];
    const { url } = await startService((_, response) =>
      json(response, 200, { logs: lines, next_offset: null }),
    );
    const result = sampleResult({
      code: 'SLIPWAY_REVISION_FAILED',
      outcome: 'rolled_back',
      deploymentId: DEPLOYMENT_ID,
      revisionId: REVISION_ID,
    });
    const ended = answeringTemporal({
      workflow: {
        getHandle: () => ({
          query: () => Promise.resolve({ state: 'ended', row: result }),
          describe: () => Promise.resolve({ status: { name: 'COMPLETED' } }),
          result: () => Promise.resolve(result),
        }),
      },
    });
    const shown = testOutput({ json: true });
    const environment = { SLIPWAY_TEST_API_KEY: 'key' };
    const session = { output: shown, home: '', environment, temporal: ended, signal };
    await followToEnd(session, { ...followed, spec: targetOn(url), asked });
    const [log, end] = shown.events.slice(-2);
    expect(log).toMatchObject({ event: 'log', revisionId: REVISION_ID, message: 'no such package' });
    expect(end).toMatchObject({ event: 'ended', outcome: 'rolled_back' });
  },
);

const promotion = {
  name: 'up',
  workflowId: 'promotion:up',
  targetId: 'target:x:greeter',
  dashboardUrl: null,
  timeoutMs: 60_000,
};

it('so does a followed promotion', async () => {
  await expect(followPromotion({ output, temporal, signal }, promotion)).rejects.toMatchObject({
    exitCode: 5,
    message: 'the key "2026-12" is missing; the promotion continues',
  });
});

it('a followed promotion says that no worker can continue its release, whose version has none', async () => {
  const progress = sampleProgress([runningStep({ step: 'promote', subject: 'release-3' })]);
  const handles: Readonly<Record<string, object>> = {
    'promotion:up': {
      describe: () => Promise.resolve({ status: { name: 'RUNNING' } }),
      query: () => Promise.resolve(progress),
    },
    'target:x:greeter/release-3': { describe: () => Promise.resolve(pinnedTo('v9')) },
  };
  const stranded = answeringTemporal({ workflow: { getHandle: (id: string) => handles[id] } });
  const shown = testOutput({ json: true });
  const stopping = new AbortController();
  const following = followPromotion(
    { output: shown, temporal: stranded, signal: stopping.signal },
    promotion,
  );
  const says = expect.stringContaining('no worker of version v9 polls the task queue "slipway"') as string;
  const call = expect.objectContaining({ says }) as object;
  await vi.waitFor(
    () => expect(shown.events).toContainEqual(expect.objectContaining({ event: 'under_way', call })),
    20_000,
  );
  stopping.abort();
  await following;
});

/** A Temporal with one promotion, whose workflow no worker answers for. */
function temporalWith(status: string, attempt: number): TemporalConnection {
  const failed = { workflowTaskFailedEventAttributes: { failure: { message: 'it does not replay' } } };
  const described = { runId: 'run', status: { name: status }, raw: { pendingWorkflowTask: { attempt } } };
  const silent = answeringTemporal({
    workflow: {
      getHandle: () => ({
        describe: () => Promise.resolve(described),
        query: () => Promise.reject(grpcError('FAILED_PRECONDITION')),
      }),
    },
  });
  const getWorkflowExecutionHistoryReverse = () => Promise.resolve({ history: { events: [failed] } });
  Object.assign(silent.connection.workflowService, { getWorkflowExecutionHistoryReverse });
  return silent;
}

const unreachable = answeringTemporal({
  workflow: { getHandle: () => ({ describe: () => Promise.reject(grpcError('UNAVAILABLE')) }) },
});

it.each([
  ['the worker', temporalWith('RUNNING', 1)],
  ['Temporal', unreachable],
])('a promotion is followed on, as a release is, while %s does not answer', async (who, silent) => {
  const output = testOutput();
  const stopping = new AbortController();
  const following = followPromotion({ output, temporal: silent, signal: stopping.signal }, promotion);
  await vi.waitFor(() => expect(output.said).not.toEqual([]), 20_000);
  expect(output.said[0]).toMatch(
    new RegExp(`… ${who} has not answered for \\d(\\.\\d)?s; still trying \\(the promotion continues\\)$`),
  );
  stopping.abort();
  expect(await following).toMatchObject({ exitCode: 5 });
});

it('a silence begins with the question that is not answered, which may take seconds to fail', async () => {
  const stopping = new AbortController();
  const describe = async () => {
    await sleep(3_000);
    stopping.abort();
    throw grpcError('UNAVAILABLE');
  };
  const output = testOutput();
  const slow = answeringTemporal({ workflow: { getHandle: () => ({ describe }) } });
  await followPromotion({ output, temporal: slow, signal: stopping.signal }, promotion);
  expect(output.said[0]).toMatch(/… Temporal has not answered for \d/);
});

it.each([
  [
    'that workers cannot continue',
    'SLIPWAY_WORKFLOW_STUCK',
    'RUNNING',
    /3 times in a row: it does not replay/,
  ],
  ['that was terminated', 'SLIPWAY_OUTCOME_UNKNOWN', 'TERMINATED', /its workflow is terminated$/],
])('a promotion %s is not followed any longer', async (_, code, status, message) => {
  const following = followPromotion({ output, temporal: temporalWith(status, 3), signal }, promotion);
  await expect(following).rejects.toMatchObject({
    code,
    exitCode: 3,
    message: expect.stringMatching(message) as string,
  });
});
