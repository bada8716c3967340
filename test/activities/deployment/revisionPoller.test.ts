import { CancelledFailure } from '@temporalio/activity';
import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import { MockActivityEnvironment } from '@temporalio/testing';
import { expect, it, onTestFinished } from 'vitest';

import { Connections } from '../../../src/activities/connections.ts';
import { RequestRates } from '../../../src/activities/deployment/requestRates.ts';
import { revisionPollerActivities } from '../../../src/activities/deployment/revisionPoller.ts';
import { pausesUntil } from '../../../src/activities/polling.ts';
import { UNREADABLE, type WaitingRevision, waitingKey } from '../../../src/messages/revisionPoller.ts';
import { answers, type Handler, inTurn, json, until } from '../../clients/faultyService.ts';
import {
  DEPLOYMENT_ID,
  failureOf,
  REVISION_ID,
  REVISION_PATH,
  revisionAnswer,
  startRoutes,
  targetOn,
} from '../activitiesUnderTest.ts';

const RELEASE = 'target:agent/release-1';
const OTHER_ID = REVISION_ID.replace(/^./u, (digit) => (digit === 'a' ? 'b' : 'a'));

it('reports each change of status, and stops at a settled revision', async () => {
  const plane = await planeThat(['BUILDING', 'BUILDING', 'DEPLOYING', 'DEPLOYED']);
  const { poll, reports } = poller();
  const revision = waiting({ status: 'QUEUED' });
  expect(await poll(plane.url, [revision])).toMatchObject({ settled: [waitingKey(revision)] });
  expect(reports).toEqual(['BUILDING', 'DEPLOYING', 'DEPLOYED']);
});

it('leaves it to the workflow to find out why a revision cannot be read', async () => {
  const plane = await startRoutes({ [`GET ${REVISION_PATH}`]: answers(404, { detail: 'gone' }) });
  const { poll, reports } = poller();
  expect((await poll(plane.url, [waiting()])).settled).toHaveLength(1);
  expect(reports).toEqual([UNREADABLE]);
});

it('pauses for all revisions of a control plane that asks to wait', async () => {
  const asked: number[] = [];
  const plane = await startRoutes({
    [`GET ${REVISION_PATH}`]: (_, response) => {
      asked.push(Date.now());
      if (asked.length === 1) json(response, 429, {}, { 'retry-after': '3' });
      else json(response, 200, revisionAnswer('DEPLOYED'));
    },
  });
  const { poll } = poller();
  const others = ['one', 'two'].map((workflowId) => waiting({ workflowId, since: Date.now() - 15_000 }));
  expect((await poll(plane.url, [waiting(), ...others])).settled).toHaveLength(3);
  expect((asked[1] ?? 0) - (asked[0] ?? 0)).toBeGreaterThanOrEqual(2_900);
});

it('retries reports that Temporal did not accept, and sends none to an ended workflow', async () => {
  const plane = await planeThat(['DEPLOYED']);
  const { poll, reports } = poller({ failures: [new Error('14 UNAVAILABLE')] });
  expect((await poll(plane.url, [waiting()])).settled).toHaveLength(1);
  expect(reports).toEqual(['DEPLOYED', 'DEPLOYED']);
  const ended = poller({ failures: [new WorkflowNotFoundError('it has ended', RELEASE, undefined)] });
  expect((await ended.poll(plane.url, [waiting()])).settled).toHaveLength(1);
  expect(ended.reports).toEqual(['DEPLOYED']);
});

it('drops a revision that no workflow waits for, by Temporal’s clock', async () => {
  const plane = await planeThat(['BUILDING', 'BUILDING', 'DEPLOYED']);
  const now = Date.now() - 600_000;
  const { poll, reports } = poller({ now });
  expect((await poll(plane.url, [waiting({ until: now })])).settled).toHaveLength(1);
  expect(reports).toEqual([]);
  await poll(plane.url, [waiting({ until: now + 60_000 })]);
  expect(reports).toEqual(['DEPLOYED']);
});

it('ends for a retry when its worker shuts down, and stops when it is cancelled', async () => {
  const plane = await planeThat(['BUILDING']);
  const ending = new AbortController();
  const { poll } = poller({ shuttingDown: ending.signal });
  const handedOver = failureOf(poll(plane.url, [waiting()]));
  await until(() => plane.requests.length > 0);
  ending.abort();
  expect(await handedOver).toMatchObject({ nonRetryable: false, category: 'BENIGN' });
  const canceled = poller();
  const stopped = expect(canceled.poll(plane.url, [waiting()])).rejects.toBeInstanceOf(CancelledFailure);
  canceled.environment.cancel();
  await stopped;
});

it('goes on while revisions settle: its workflow’s next task would wait behind those of the releases', async () => {
  const pauses: number[] = [];
  const { plane, comeUp } = await planeOf(REVISION_ID, OTHER_ID);
  const revisions = [REVISION_ID, OTHER_ID].map((revisionId) => waiting({ revisionId, since: Date.now() }));
  const active = poller({
    pause: async (milliseconds) => {
      pauses.push(milliseconds);
      // One settles in the attempt's own time, and the other one after it.
      comeUp([REVISION_ID, OTHER_ID][pauses.length - 1] ?? '');
      await until(() => active.reports.length === pauses.length);
    },
  });
  expect((await active.poll(plane.url, revisions)).settled).toHaveLength(2);
  const quiet = await planeOf(REVISION_ID, OTHER_ID);
  const calm = poller({
    pause: async () => {
      quiet.comeUp(REVISION_ID);
      await until(() => calm.reports.length === 1);
    },
  });
  expect((await calm.poll(quiet.plane.url, revisions)).settled).toHaveLength(1);
});

it('goes on while revisions of another attempt settle', async () => {
  const { plane, comeUp } = await planeOf(REVISION_ID, OTHER_ID);
  const later = [() => comeUp(OTHER_ID), () => undefined, () => comeUp(REVISION_ID)];
  const { poll, reports } = poller({
    pause: async () => {
      later.shift()?.();
      await until(() => reports.length === (later.length === 0 ? 2 : 1));
    },
  });
  const polled = [OTHER_ID, REVISION_ID].map((revisionId) => poll(plane.url, [waiting({ revisionId })]));
  for (const { settled } of await Promise.all(polled)) expect(settled).toHaveLength(1);
});

function waiting(changes: Partial<WaitingRevision> = {}): WaitingRevision {
  const now = Date.now();
  const revision = { deploymentId: DEPLOYMENT_ID, revisionId: REVISION_ID, status: 'BUILDING' };
  return { workflowId: RELEASE, ...revision, since: now - 10_000, until: now + 60_000, ...changes };
}

/** A control plane that answers these statuses of its revision, one per read, and then repeats the last. */
function planeThat(statuses: readonly string[]) {
  const status = inTurn(statuses);
  return startRoutes({
    [`GET ${REVISION_PATH}`]: (_, response) => json(response, 200, revisionAnswer(status() ?? '')),
  });
}

/** A control plane whose revisions are `BUILDING` until they come up. */
async function planeOf(...revisionIds: readonly string[]) {
  const up = new Set<string>();
  const routes = revisionIds.map((id): [string, Handler] => [
    `GET ${REVISION_PATH.replace(REVISION_ID, id)}`,
    (_, response) => json(response, 200, revisionAnswer(up.has(id) ? 'DEPLOYED' : 'BUILDING')),
  ]);
  const plane = await startRoutes(Object.fromEntries(routes));
  return { plane, comeUp: (id: string) => void up.add(id) };
}

/**
 * The poller's activity.
 * @param failures - of its first reports, one each.
 * @param now - by Temporal's clock, in milliseconds since 1970.
 */
function poller({
  failures = [] as Error[],
  now = Date.now(),
  shuttingDown = new AbortController().signal,
  pause = pausesUntil(shuttingDown),
} = {}) {
  const reports: string[] = [];
  const signal = async (_: unknown, { status }: { readonly status: string }): Promise<void> => {
    reports.push(status);
    const failure = failures.shift();
    await (failure === undefined ? Promise.resolve() : Promise.reject(failure));
  };
  const client = {
    workflow: { getHandle: () => ({ signal }) },
    withAbortSignal: (_: unknown, call: () => unknown) => call(),
  } as unknown as Client;
  const environment = new MockActivityEnvironment(
    { startToCloseTimeoutMs: 600_000, currentAttemptScheduledTimestampMs: now },
    { client },
  );
  const connections = new Connections();
  onTestFinished(() => connections.close());
  const activities = revisionPollerActivities(connections, new RequestRates(), pause, shuttingDown);
  const poll = async (url: string, revisions: readonly WaitingRevision[]) => {
    const polled: unknown = await environment.run(activities.pollRevisions, {
      target: targetOn(url),
      waiting: revisions,
    });
    return polled as Awaited<ReturnType<typeof activities.pollRevisions>>;
  };
  return { poll, reports, environment };
}
