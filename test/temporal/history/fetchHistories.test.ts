import { expect, it } from 'vitest';

import { fetchAudited } from '../../../src/temporal/history/fetchHistories.ts';
import { readTargetFacts } from '../../../src/temporal/history/readFacts.ts';
import { answeringTemporal } from '../client/answeringTemporal.ts';
import { payloads } from './events.ts';

it('the audit reads the runs of a release that a reset began, apart from the one that the target started', async () => {
  const child = (workflowId: string, runId: string) => ({
    childWorkflowExecutionStartedEventAttributes: { workflowExecution: { workflowId, runId } },
  });
  const input = payloads({ request: { requestedBy: {} }, known: [] });
  const run = [{ workflowExecutionStartedEventAttributes: { workflowType: { name: 'release' }, input } }];
  const histories: Readonly<Record<string, readonly object[]>> = {
    target: [child('t/release-1', 'first')],
    first: run,
    reset: run,
  };
  const listed: Readonly<Record<string, readonly string[]>> = {
    'WorkflowId = "t"': ['t target'],
    'WorkflowId STARTS_WITH "t/"': ['t/release-1 reset', 't/release-1 first', 't/agent/release-1 other'],
  };
  const temporal = answeringTemporal({
    workflow: {
      list: ({ query }: { query: string }) =>
        (listed[query] ?? []).map((line) => {
          const [workflowId, runId] = line.split(' ');
          return { workflowId, runId, startTime: new Date() };
        }),
      getHandle: (_: string, runId = 'target') => ({
        describe: () => Promise.resolve({ runId }),
        fetchHistory: () => Promise.resolve({ events: histories[runId] }),
      }),
    },
  });
  const found = await fetchAudited(temporal, 't');
  expect(found.map(({ workflowId, isReset = false }) => [workflowId, isReset])).toEqual([
    ['t', false],
    ['t/release-1', false],
    ['t/release-1', true],
  ]);
  const { works, resets } = readTargetFacts('t', found);
  expect([works.length, resets.length]).toEqual([1, 1]);
});
