import { type ApplicationFailure, CancelledFailure } from '@temporalio/activity';
import { MockActivityEnvironment } from '@temporalio/testing';
import { describe, expect, it } from 'vitest';

import { toActivityFailure } from '../../src/activities/activityFailure.ts';
import { ERROR_CATALOGUE, type ErrorCode, SlipwayError } from '../../src/domain/errors.ts';
import {
  answers,
  closedPort,
  json,
  startService,
  startSocketService,
  until,
} from '../clients/faultyService.ts';
import {
  activitiesUnderTest,
  API_KEY,
  DEPLOYMENT_ID,
  DEPLOYMENT_PATH,
  deploymentAnswer,
  failureOf,
  startRoutes,
  awaitedOn,
  targetOn,
} from './activitiesUnderTest.ts';

const RETRYABLE = [
  'SLIPWAY_UNREACHABLE',
  'SLIPWAY_NO_ANSWER',
  'SLIPWAY_BAD_ANSWER',
  'SLIPWAY_RATE_LIMITED',
  'SLIPWAY_SERVICE_ERROR',
  'SLIPWAY_NOT_SERVING',
  'SLIPWAY_ARTIFACT_STORE_UNAVAILABLE',
  'SLIPWAY_TEMPORAL_UNREACHABLE',
  'SLIPWAY_TARGET_UNREADABLE',
];

function failureFor(error: unknown, attempt = 1): Promise<ApplicationFailure> {
  const environment = new MockActivityEnvironment({ attempt });
  const failure = environment.run(() => Promise.resolve(toActivityFailure(error)));
  return failureOf(failure.then((reason) => Promise.reject(reason as Error)));
}

describe('a service that fails', () => {
  it.each([
    { status: 422, code: 'SLIPWAY_REFUSED', final: true, taken: false },
    { status: 429, code: 'SLIPWAY_RATE_LIMITED', final: false, taken: false },
    { status: 503, code: 'SLIPWAY_SERVICE_ERROR', final: false, taken: true },
  ])('with $status becomes a failure of type $code', async ({ status, code, final, taken }) => {
    const plane = await startService((request, response) =>
      json(response, status, { detail: `wrong: ${String(request.headers['x-api-key'])}` }),
    );
    const activities = activitiesUnderTest({ attempt: 3 });
    const failure = await failureOf(
      activities.readDeployment({ target: targetOn(plane.url), deploymentId: DEPLOYMENT_ID }),
    );
    expect(plane.requests[0]?.headers['x-api-key']).toBe(API_KEY);
    expect(failure).toMatchObject({ type: code, nonRetryable: final });
    expect(failure.details).toEqual([{ code, status, mayHaveBeenTaken: taken, attempt: 3 }]);
    expect(failure.nextRetryDelay).toBeUndefined();
    expect(failure.message).toContain(`was answered with ${status}`);
  });

  it('by asking to wait is retried after that time', async () => {
    const plane = await startService(answers(503, {}, { 'retry-after': '7' }));
    const target = targetOn(plane.url);
    const failure = await failureOf(
      activitiesUnderTest().readDeployment({ target, deploymentId: DEPLOYMENT_ID }),
    );
    expect(failure.nextRetryDelay).toBe(7_000);
    expect(failure.details?.[0]).toMatchObject({ retryAfterMs: 7_000 });
  });

  it('by asking to wait for less than the step’s own pause is retried after that pause', async () => {
    const plane = await startService(answers(503, {}, { 'retry-after': '1' }));
    const retryPolicy = { initialInterval: 500, backoffCoefficient: 2, maximumInterval: 15_000 };
    const activities = activitiesUnderTest({ attempt: 4, retryPolicy });
    const input = { target: targetOn(plane.url), deploymentId: DEPLOYMENT_ID };
    expect((await failureOf(activities.readDeployment(input))).nextRetryDelay).toBe(4_000);
  });

  it('by asking to wait past the step’s deadline is retried once before it', async () => {
    const plane = await startService(answers(429, {}, { 'retry-after': '3600' }));
    const target = targetOn(plane.url);
    // The worker's clock is behind Temporal's.
    const due = Date.now() + 600_000;
    const activities = activitiesUnderTest({
      scheduledTimestampMs: due,
      currentAttemptScheduledTimestampMs: due,
      scheduleToCloseTimeoutMs: 300_000,
    });
    const failure = await failureOf(activities.awaitDeployed(awaitedOn(plane.url)));
    expect(failure.nextRetryDelay).toBe(270_000);
    const write = activities.readDeployment({ target, deploymentId: DEPLOYMENT_ID });
    expect((await failureOf(write)).details?.[0]).toMatchObject({ retryAfterMs: 3_600_000 });
  });

  it('by refusing the connection is retried, and has certainly not taken the request', async () => {
    const target = targetOn(await closedPort());
    const failure = await failureOf(
      activitiesUnderTest().readDeployment({ target, deploymentId: DEPLOYMENT_ID }),
    );
    expect(failure).toMatchObject({ type: 'SLIPWAY_UNREACHABLE', nonRetryable: false });
    expect(failure.details).toEqual([{ code: 'SLIPWAY_UNREACHABLE', mayHaveBeenTaken: false, attempt: 1 }]);
  });

  it('by closing the connection may have taken the request', async () => {
    const plane = await startSocketService((socket) => socket.once('data', () => socket.destroy()));
    const failure = await failureOf(
      activitiesUnderTest().readDeployment({ target: targetOn(plane.url), deploymentId: DEPLOYMENT_ID }),
    );
    expect(failure).toMatchObject({ type: 'SLIPWAY_NO_ANSWER', nonRetryable: false });
    expect(failure.details).toEqual([{ code: 'SLIPWAY_NO_ANSWER', mayHaveBeenTaken: true, attempt: 1 }]);
  });
});

describe('an activity’s failure', () => {
  it('is final for exactly the codes that another attempt cannot fix', async () => {
    const codes = Object.keys(ERROR_CATALOGUE) as ErrorCode[];
    const failures = await Promise.all(codes.map((code) => failureFor(new SlipwayError(code, 'it failed'))));
    const again = codes.filter((_, index) => failures[index]?.nonRetryable === false);
    expect(again.toSorted()).toEqual(RETRYABLE.toSorted());
  });

  it('is final for a secret that is not set, and names its reference', async () => {
    const plane = await startRoutes({});
    const target = targetOn(plane.url, { apiKey: { from: 'env:SLIPWAY_TEST_ABSENT' } });
    const failure = await failureOf(
      activitiesUnderTest().readDeployment({ target, deploymentId: DEPLOYMENT_ID }),
    );
    expect(failure).toMatchObject({ type: 'SLIPWAY_SECRET_MISSING', nonRetryable: true });
    expect(failure.message).toContain('env:SLIPWAY_TEST_ABSENT');
    expect(failure.details).toEqual([
      { code: 'SLIPWAY_SECRET_MISSING', mayHaveBeenTaken: false, attempt: 1 },
    ]);
    expect(plane.requests).toEqual([]);
  });

  it('is final for a comment if nobody says in which repository', async () => {
    const comment = { kind: 'github', apiUrl: 'https://github.test', token: { from: 'env:NONE' } } as const;
    const writing = activitiesUnderTest().writeComment({ comment, pr: 1, marker: '', body: '' });
    expect(await failureOf(writing)).toMatchObject({
      message: expect.stringContaining('the repository of the pull request is unknown') as string,
      nonRetryable: true,
    });
  });

  it('says what happened and what to do', async () => {
    const error = new SlipwayError('SLIPWAY_CONFLICT', 'it clashes', { hint: 'let it be' });
    const failure = await failureFor(error);
    expect(failure.message).toBe('it clashes (let it be)');
  });

  it('is SLIPWAY_INTERNAL, final, and without a cause for an unexpected error', async () => {
    const failure = await failureFor(new TypeError('no such thing'), 2);
    expect(failure).toMatchObject({
      type: 'SLIPWAY_INTERNAL',
      message: 'no such thing',
      nonRetryable: true,
      details: [{ code: 'SLIPWAY_INTERNAL', mayHaveBeenTaken: true, attempt: 2 }],
    });
    expect(failure.cause).toBeUndefined();
  });

  it('is a CancelledFailure for a call that the activity’s cancellation ended', async () => {
    const plane = await startService(() => undefined);
    const activities = activitiesUnderTest();
    const target = targetOn(plane.url);
    const attempt = activities.readDeployment({ target, deploymentId: DEPLOYMENT_ID });
    const canceled = expect(attempt).rejects.toBeInstanceOf(CancelledFailure);
    await until(() => plane.requests.length === 1);
    activities.environment.cancel();
    await canceled;
  });
});

describe('an activity’s result', () => {
  it('carries the attempt that gave it', async () => {
    const plane = await startRoutes({ [`GET ${DEPLOYMENT_PATH}`]: answers(200, deploymentAnswer()) });
    const input = { target: targetOn(plane.url), deploymentId: DEPLOYMENT_ID };
    expect(await activitiesUnderTest({ attempt: 4 }).readDeployment(input)).toMatchObject({ attempt: 4 });
  });
});
