import { ApplicationFailureCategory } from '@temporalio/common';
import { MockActivityEnvironment } from '@temporalio/testing';
import { describe, expect, it } from 'vitest';

import { watchActivities } from '../../../src/activities/target/watchActivities.ts';
import { answers } from '../../clients/faultyService.ts';
import {
  activitiesUnderTest,
  DEPLOYMENT_ID,
  DEPLOYMENT_PATH,
  deploymentAnswer,
  failureOf,
  OTHER_REVISION_ID,
  REVISION_ID,
  revisionAnswer,
  revisionOn,
  startRoutes,
  targetOn,
} from '../activitiesUnderTest.ts';

describe('awaitLateUpload', () => {
  const PATH = 'uploads/1.tar.gz';
  const carrying = (id: string, path: string) => ({
    ...revisionAnswer('QUEUED'),
    id,
    source_revision_config: { source_tarball_path: path },
  });
  const input = (controlPlane: string, known: readonly string[], until = '2100-01-01T00:00:00.000Z') => ({
    target: targetOn(controlPlane),
    deploymentId: DEPLOYMENT_ID,
    objectPath: PATH,
    known,
    until,
  });

  it('finds a revision that carries the upload and is not recorded', async () => {
    const resources = [carrying(OTHER_REVISION_ID, PATH), carrying(REVISION_ID, PATH)];
    const plane = await startRoutes({
      [`GET ${DEPLOYMENT_PATH}/revisions`]: answers(200, { resources, offset: 2 }),
    });
    const landed = await activitiesUnderTest().awaitLateUpload(input(plane.url, [REVISION_ID]));
    expect(landed.revisionId).toBe(OTHER_REVISION_ID);
  });

  it('reports none, and polls again later without occupying a slot', async () => {
    const resources = [carrying(OTHER_REVISION_ID, 'uploads/2.tar.gz'), carrying(REVISION_ID, PATH)];
    const plane = await startRoutes({
      [`GET ${DEPLOYMENT_PATH}/revisions`]: answers(200, { resources, offset: 2 }),
    });
    const looking = activitiesUnderTest().awaitLateUpload(input(plane.url, [REVISION_ID]));
    expect(await failureOf(looking)).toMatchObject({
      type: 'SLIPWAY_STEP_TIMED_OUT',
      nonRetryable: false,
      category: ApplicationFailureCategory.BENIGN,
      nextRetryDelay: 10_000,
    });
  });

  it('polls only the newest revision if the control plane has no list', async () => {
    const plane = await startRoutes({ [`GET ${DEPLOYMENT_PATH}`]: answers(200, deploymentAnswer()) });
    const activities = activitiesUnderTest();
    expect((await activities.awaitLateUpload(input(plane.url, []))).revisionId).toBe(REVISION_ID);
    const again = await failureOf(activities.awaitLateUpload(input(plane.url, [REVISION_ID])));
    expect(again.type).toBe('SLIPWAY_STEP_TIMED_OUT');
  });

  it('polls once if the deadline has passed before it begins', async () => {
    const resources = [carrying(REVISION_ID, PATH)];
    const plane = await startRoutes({
      [`GET ${DEPLOYMENT_PATH}/revisions`]: answers(200, { resources, offset: 1 }),
    });
    const look = (known: readonly string[]) =>
      activitiesUnderTest().awaitLateUpload(input(plane.url, known, '2026-01-01T00:00:00.000Z'));
    expect((await look([])).revisionId).toBe(REVISION_ID);
    expect((await look([REVISION_ID])).revisionId).toBeNull();
  });
});

describe('watchRevision', () => {
  it('measures time by the given clock, and ends at the deadline without another round', async () => {
    const HOUR_MS = 3_600_000;
    const began = Date.now() + 30 * 24 * HOUR_MS;
    const clock = { now: began };
    const { watchRevision } = watchActivities({
      readDeployment: () => Promise.resolve({ deployment: { activeRevisionId: REVISION_ID } as never }),
      listRevisions: () => Promise.resolve({ revisions: [] }),
      runCheck: () => Promise.reject(new Error('there is no check')),
      now: () => Promise.resolve(clock.now),
    });
    const input = {
      target: targetOn('http://127.0.0.1:1'),
      deploymentId: DEPLOYMENT_ID,
      revisionId: REVISION_ID,
      agentUrl: 'http://127.0.0.1:1',
      store: 'a store',
      checks: [],
      until: began + 7 * 24 * HOUR_MS,
      everyMs: 4 * HOUR_MS,
    };
    const round = () => new MockActivityEnvironment().run(() => watchRevision(input));
    expect(await failureOf(round())).toMatchObject({ nextRetryDelay: 4 * HOUR_MS });
    clock.now = input.until - HOUR_MS;
    expect(await failureOf(round())).toMatchObject({ nextRetryDelay: HOUR_MS });
    clock.now = input.until;
    expect(await round()).toEqual({ failed: null });
  });

  it('goes by Temporal’s clock if the worker’s is ahead or behind, even after an outage of the workers', async () => {
    const { watchRevision } = watchActivities({
      readDeployment: () => Promise.resolve({ deployment: { activeRevisionId: REVISION_ID } as never }),
      listRevisions: () => Promise.resolve({ revisions: [] }),
      runCheck: () => Promise.reject(new Error('there is no check')),
    });
    const MINUTE_MS = 60_000;
    const round = (until: number, attempt: { readonly due: number; readonly heartbeatDetails?: unknown }) => {
      const { due: currentAttemptScheduledTimestampMs, heartbeatDetails } = attempt;
      const environment = new MockActivityEnvironment({
        currentAttemptScheduledTimestampMs,
        heartbeatDetails,
        heartbeatTimeoutMs: 10_000,
      });
      const heartbeats: unknown[] = [];
      environment.on('heartbeat', (details: unknown) => heartbeats.push(details));
      const input = { ...revisionOn('http://127.0.0.1:1'), agentUrl: '', store: '', checks: [], until };
      const ended = environment.run(() => watchRevision({ ...input, everyMs: MINUTE_MS }));
      return { ended, heartbeats };
    };
    // The worker's clock is an hour ahead: only Temporal's time ends the watch.
    const ahead = Date.now() - 60 * MINUTE_MS;
    const asks = round(ahead + 10 * MINUTE_MS, { due: ahead });
    expect(await failureOf(asks.ended)).toMatchObject({ nextRetryDelay: 1_000 });
    const [heartbeatDetails] = asks.heartbeats;
    const knows = round(ahead + 10 * MINUTE_MS, { due: ahead + 1_000, heartbeatDetails });
    expect(await failureOf(knows.ended)).toMatchObject({ nextRetryDelay: MINUTE_MS });
    expect(await round(ahead, { due: ahead }).ended).toEqual({ failed: null });
    // An attempt that waited for a worker past the end of the watch.
    const late = round(Date.now() - MINUTE_MS, { due: Date.now() - 30 * MINUTE_MS });
    expect(await failureOf(late.ended)).toMatchObject({ nextRetryDelay: 1_000 });
    // The worker's clock is an hour behind.
    const behind = Date.now() + 60 * MINUTE_MS;
    expect(await round(behind, { due: behind }).ended).toEqual({ failed: null });
  });

  it('reports passed checks between two rounds, and no running check', async () => {
    const plane = await startRoutes({
      [`GET ${DEPLOYMENT_PATH}`]: answers(200, deploymentAnswer({ active_revision_id: REVISION_ID })),
    });
    const activities = activitiesUnderTest();
    const round = activities.watchRevision({
      target: targetOn(plane.url),
      deploymentId: DEPLOYMENT_ID,
      revisionId: REVISION_ID,
      agentUrl: plane.url,
      store: 'a store',
      checks: [],
      until: Date.now() + 3_600_000,
      everyMs: 60_000,
    });
    expect(await failureOf(round)).toMatchObject({ nextRetryDelay: 60_000 });
    expect(activities.heartbeats.at(-1)).toMatchObject({
      says: `revision ${REVISION_ID} serves and passed its checks`,
    });
  });
});
