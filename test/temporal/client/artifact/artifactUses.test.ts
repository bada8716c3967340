import { describe, expect, it } from 'vitest';

import type { ReleaseRequest } from '../../../../src/domain/release/release.ts';
import { WORKFLOW_TYPES } from '../../../../src/messages/workflowTypes.ts';
import { artifactUses } from '../../../../src/temporal/client/artifact/artifactUses.ts';
import type { TemporalConnection } from '../../../../src/temporal/client/connection.ts';
import { request, runs, seasoned } from '../../../domain/target/targets.ts';
import { payloads } from '../../history/events.ts';
import { answeringTemporal } from '../answeringTemporal.ts';

const [WAITS, RUNS, CANDIDATE, INPUTS, COMPARED, ORDERED, SCHEDULED, ROWS] = [
  'a',
  'b',
  'c',
  'd',
  'e',
  '1',
  'f',
  '0',
].map((letter) => `sha256:${letter.repeat(64)}`);
const CHECKS = [{ dataset: { digest: ROWS } }] as unknown as ReleaseRequest['checks'];
const TARGET = 'target:x:agent';
const PROMOTION = 'promotion:x:agent:nightly';
const PREVIEW = 'preview:x:agent-7';
const HOOK = 'hook:alerts:0123456789ab';

function started(type: string, input: unknown) {
  const workflowExecutionStartedEventAttributes = { workflowType: { name: type }, input: payloads(input) };
  return { workflowExecutionStartedEventAttributes };
}

/** A Temporal with one target with running and queued work, one promotion and one schedule. */
function namespace(change: { readonly query?: () => Promise<unknown> } = {}): TemporalConnection {
  const state = seasoned({
    queue: [
      { releaseId: 'release-8', queuedAt: '', request: { ...request('a'.repeat(64)), checks: CHECKS } },
    ],
  });
  const running = runs('release-7', { workflowId: `${TARGET}/release-7` });
  const histories: Record<string, unknown> = {
    [`${TARGET}/release-7`]: {
      events: [started('release', { request: { ...request('b'.repeat(64)), checks: CHECKS }, known: [] })],
    },
    [PROMOTION]: {
      events: [
        started('promotion', { request: { name: 'nightly', judge: { inputs: { digest: INPUTS } } } }),
        { activityTaskScheduledEventAttributes: { input: payloads({ artifact: CANDIDATE }) } },
      ],
    },
    [PREVIEW]: { events: [started('preview', { spec: { judge: { inputs: { digest: COMPARED } } } })] },
    [HOOK]: { events: [started('hook', { state: { orders: { 'rule staging': request('1'.repeat(64)) } } })] },
  };
  const scheduled = {
    name: 'weekly',
    release: { checks: CHECKS },
    judge: { inputs: { digest: SCHEDULED, name: 'inputs.jsonl' } },
  };
  const described = {
    scheduleId: 'promotion:weekly',
    action: { workflowType: WORKFLOW_TYPES.promotionTurn, args: [{ request: scheduled, schedule: {} }] },
    state: { paused: false },
    info: { nextActionTimes: [], recentActions: [] },
  };
  return answeringTemporal({
    workflow: {
      list: ({ query }: { query: string }) =>
        [TARGET, PROMOTION, PREVIEW, HOOK]
          .filter((id) => query.includes(`'${id.split(':', 1)[0] ?? ''}'`))
          .map((workflowId) => ({ workflowId })),
      getHandle: (workflowId: string) => ({
        describe: () => Promise.resolve({ raw: {}, status: { name: 'RUNNING' } }),
        query: change.query ?? (() => Promise.resolve({ state, running })),
        fetchHistory: () => Promise.resolve(histories[workflowId]),
      }),
    },
    schedule: {
      list: () => [{ scheduleId: 'promotion:weekly' }],
      getHandle: () => ({ describe: () => Promise.resolve(described) }),
    },
  });
}

describe('the users of artifacts', () => {
  it('are all targets, promotions, previews, hooks and schedules, with waiting, running, promoted and judged artifacts, and datasets', async () => {
    const { uses, targets } = await artifactUses(namespace());
    expect(targets).toEqual([
      { name: 'production', workflowId: TARGET, store: 'file:///records', checks: [] },
    ]);
    expect(uses).toEqual([
      { artifact: RUNS, why: 'release-7 runs on production' },
      { artifact: ROWS, why: 'a dataset of a check: release-7 runs on production' },
      { artifact: WAITS, why: 'release-8 waits on production' },
      { artifact: ROWS, why: 'a dataset of a check: release-8 waits on production' },
      { artifact: INPUTS, why: 'named by nightly, a promotion under way' },
      { artifact: CANDIDATE, why: 'named by nightly, a promotion under way' },
      { artifact: COMPARED, why: `named by ${PREVIEW}` },
      { artifact: ORDERED, why: `named by ${HOOK}` },
      { artifact: ROWS, why: 'a dataset of a check: the schedule of weekly' },
      { artifact: SCHEDULED, why: 'the judge’s inputs of the schedule of weekly' },
    ]);
  });

  it('are unknown if a target fails to answer: the error names it, with its message', async () => {
    const query = () => Promise.reject(new Error('the query view is not known'));
    await expect(artifactUses(namespace({ query }))).rejects.toMatchObject({
      code: 'SLIPWAY_TARGET_SILENT',
      place: TARGET,
      message: expect.stringContaining('the query view is not known'),
    });
  });

  it('are unknown if the running work of a target has no history', async () => {
    const running = runs('release-9', { workflowId: `${TARGET}/release-9` });
    const query = () => Promise.resolve({ state: seasoned(), running });
    await expect(artifactUses(namespace({ query }))).rejects.toMatchObject({
      code: 'SLIPWAY_TARGET_SILENT',
      message: expect.stringContaining('release-9'),
    });
  });
});
