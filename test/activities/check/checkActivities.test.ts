import type { ServerResponse } from 'node:http';
import { rm } from 'node:fs/promises';

import { CancelledFailure } from '@temporalio/activity';
import { describe, expect, it, onTestFinished } from 'vitest';

import { openArtifactStore } from '../../../src/artifact/openArtifactStore.ts';
import { jsonBytes } from '../../../src/domain/bounds.ts';
import type { Check } from '../../../src/domain/check/check.ts';
import { answers, type Handler, json, type SeenRequest, until } from '../../clients/faultyService.ts';
import {
  activitiesUnderTest,
  DEPLOYMENT_PATH,
  deploymentAnswer,
  failureOf,
  OTHER_REVISION_ID,
  REVISION_ID,
} from '../activitiesUnderTest.ts';
import { CHECK, GREETED, inputOn, METADATA, runOf, runsOf, send, startStack, STORE } from './checkedStack.ts';

const WITH_FEEDBACK: Check = { ...CHECK, feedbackKey: 'smoke' };

describe('a check’s verdict', () => {
  it('comes from the last values of one stateless run', async () => {
    const stack = await startStack(runOf(['values', { greeting: 'not yet' }], GREETED));
    const { verdict, attempt } = await activitiesUnderTest({ attempt: 2 }).runCheck(inputOn(stack));
    expect(attempt).toBe(2);
    expect(verdict).toEqual({
      check: 'greets',
      revisionId: REVISION_ID,
      passed: true,
      reasons: [],
      answer: '{"greeting":"Hello, Ada"}',
      runId: 'run-1',
      latencyMs: expect.any(Number),
      feedbackRecorded: null,
    });
    expect(runsOf(stack)).toEqual([
      { assistant_id: 'greeter', input: { name: 'Ada' }, stream_mode: ['values'], on_disconnect: 'cancel' },
    ]);
  });

  it('holds a few hundred bytes of a long answer, and the artifact store keeps all of it', async () => {
    onTestFinished(() => rm(STORE, { recursive: true, force: true }));
    const greeting = 'Hello, 界😀'.repeat(1_000);
    const stack = await startStack(runOf(['values', { messages: [{ content: greeting }] }]));
    const { verdict } = await activitiesUnderTest({ activityType: 'runCheck' }).runCheck(inputOn(stack));
    expect(jsonBytes(verdict)).toBeLessThan(1_000);
    expect(verdict.answerRecord).toMatch(/^_answers\/[0-9a-f]{64}\.json$/);
    expect(await openArtifactStore(STORE).getRecord(verdict.answerRecord ?? '')).toBe(greeting);
  });

  it('of a round of a watch keeps a long answer only if it ends the watch', async () => {
    onTestFinished(() => rm(STORE, { recursive: true, force: true }));
    const answers = ['Hello', 'Go away'].map((text) => [{ content: text.repeat(1_000) }]);
    const stacks = await Promise.all(answers.map((messages) => startStack(runOf(['values', { messages }]))));
    const round = activitiesUnderTest({ activityType: 'watchRevision' });
    const [good, bad] = await Promise.all(stacks.map((stack) => round.runCheck(inputOn(stack))));
    expect(good?.verdict).toMatchObject({ passed: true, answerRecord: undefined });
    expect(await openArtifactStore(STORE).listRecords('_answers/')).toEqual([bad?.verdict.answerRecord]);
  });

  it('stands where the artifact store is away', async () => {
    const stack = await startStack(runOf(['values', { messages: [{ content: 'Hello'.repeat(1_000) }] }]));
    const input = { ...inputOn(stack), store: '/dev/null/store' };
    const { verdict } = await activitiesUnderTest().runCheck(input);
    expect(verdict.passed).toBe(true);
    expect(verdict.answerRecord).toBeUndefined();
  });

  it('says why the answer is not the expected one', async () => {
    const stack = await startStack(runOf(GREETED, ['values', { greeting: 'Go away' }]));
    const { verdict } = await activitiesUnderTest().runCheck(inputOn(stack));
    expect(verdict).toMatchObject({ passed: false, answer: '{"greeting":"Go away"}' });
    expect(verdict.reasons[0]).toContain('does not contain "Hello"');
  });

  it('tells the error that the run ended with', async () => {
    const stack = await startStack(runOf(['error', { error: 'ModelError', message: 'no model' }]));
    const { verdict } = await activitiesUnderTest().runCheck(inputOn(stack));
    expect(verdict.passed).toBe(false);
    expect(verdict.reasons[0]).toContain('ended "error" instead of "success": ModelError: no model');
  });

  it('knows a run that waits for a person', async () => {
    const stack = await startStack(runOf(['values', { __interrupt__: [{ value: 'sure?' }] }]));
    const check: Check = { ...CHECK, expect: { status: 'interrupted' } };
    expect((await activitiesUnderTest().runCheck(inputOn(stack, check))).verdict.passed).toBe(true);
  });

  it('waits within one attempt for a control plane that does not answer', async () => {
    let looks = 0;
    const stack = await startStack(runOf(GREETED), {
      [`GET ${DEPLOYMENT_PATH}`]: (_: SeenRequest, response: ServerResponse) =>
        json(response, looks++ < 3 ? 503 : 200, deploymentAnswer()),
    });
    const { verdict, attempt } = await activitiesUnderTest().runCheck(inputOn(stack));
    expect({ passed: verdict.passed, attempt }).toEqual({ passed: true, attempt: 1 });
    expect(runsOf(stack)).toHaveLength(1);
  });

  it('is none where the stream ends before any values: it is asked again', async () => {
    const stack = await startStack(runOf());
    await expect(activitiesUnderTest().runCheck(inputOn(stack))).rejects.toMatchObject({
      type: 'SLIPWAY_BAD_ANSWER',
      nonRetryable: false,
    });
  });

  it.each([
    ['does not end in time', (_: SeenRequest, response: ServerResponse) => send(response, METADATA, GREETED)],
    ['does not begin in time', () => undefined],
  ])('counts a run that %s as not passed', async (_, run) => {
    const stack = await startStack(run);
    const { verdict } = await activitiesUnderTest().runCheck(inputOn(stack, { ...CHECK, timeoutMs: 300 }));
    expect(verdict.passed).toBe(false);
    expect(verdict.reasons[0]).toContain('ended "timeout"');
    expect(verdict.latencyMs).toBeGreaterThan(250);
  });

  it('is none where a gateway refuses the run, also if it does not end its answer', async () => {
    const stack = await startStack((_, response) => response.writeHead(503).write('<html>'));
    const run = activitiesUnderTest().runCheck(inputOn(stack, { ...CHECK, timeoutMs: 300 }));
    await expect(run).rejects.toMatchObject({ type: 'SLIPWAY_SERVICE_ERROR', nonRetryable: false });
  });
});

describe('a check’s feedback', () => {
  /** An agent that gives a link to itself. */
  const run: Handler = ({ headers }, response) => {
    const link = `http://${headers.host}/api/v1/feedback/tokens/signature=1`;
    send(response, METADATA, ['feedback', { smoke: link }], ['values', { greeting: 'Go away' }]);
    response.end();
  };
  const LINK = 'POST /api/v1/feedback/tokens/signature=1';

  it('is recorded through the run’s own link, with score and reasons', async () => {
    const stack = await startStack(run, { [LINK]: answers(200, {}) });
    const { verdict } = await activitiesUnderTest().runCheck(inputOn(stack, WITH_FEEDBACK));
    expect(verdict.feedbackRecorded).toBe(true);
    expect(runsOf(stack)).toMatchObject([{ feedback_keys: ['smoke'] }]);
    const recorded = stack.requests.find(({ url }) => url.startsWith('/api/v1/feedback'));
    expect(JSON.parse(recorded?.body ?? '')).toEqual({ score: 0, comment: verdict.reasons.join('; ') });
    expect(recorded?.headers['x-api-key']).toBeUndefined();
  });

  it('leaves the verdict as it is where the link fails', async () => {
    const stack = await startStack(run, { [LINK]: answers(500, {}) });
    const { verdict } = await activitiesUnderTest().runCheck(inputOn(stack, WITH_FEEDBACK));
    expect(verdict).toMatchObject({ passed: false, feedbackRecorded: false });
  });

  it('is not recorded where the agent gives no link', async () => {
    const stack = await startStack(runOf(GREETED));
    const { verdict } = await activitiesUnderTest().runCheck(inputOn(stack, WITH_FEEDBACK));
    expect(verdict).toMatchObject({ passed: true, feedbackRecorded: false });
  });

  it('is given up with the check’s cancellation', async () => {
    const stack = await startStack(run, { [LINK]: () => undefined });
    const activities = activitiesUnderTest();
    const canceled = expect(activities.runCheck(inputOn(stack, WITH_FEEDBACK))).rejects.toBeInstanceOf(
      CancelledFailure,
    );
    await until(() => stack.requests.some(({ url }) => url.startsWith('/api/v1/feedback')));
    activities.environment.cancel();
    await canceled;
  });
});

describe('a check that does not count', () => {
  it('is not even begun where another revision is active before it', async () => {
    const stack = await startStack(runOf(GREETED), { active: [OTHER_REVISION_ID] });
    const failure = await failureOf(activitiesUnderTest().runCheck(inputOn(stack)));
    expect(failure).toMatchObject({ type: 'SLIPWAY_NOT_SERVING', nonRetryable: false });
    expect(runsOf(stack)).toEqual([]);
  });

  it('is tried again, without feedback, where another revision is active after it', async () => {
    const stack = await startStack(runOf(GREETED), { active: [REVISION_ID, null] });
    const failure = await failureOf(activitiesUnderTest().runCheck(inputOn(stack, WITH_FEEDBACK)));
    expect(failure).toMatchObject({ type: 'SLIPWAY_NOT_SERVING', nonRetryable: false });
    expect(failure.message).toContain(`revision none is active instead of ${REVISION_ID}`);
    expect(runsOf(stack)).toHaveLength(1);
  });

  it('is tried again where its stream breaks', async () => {
    const stack = await startStack((_, response) => {
      send(response, METADATA, GREETED);
      response.socket?.end();
    });
    const failure = await failureOf(activitiesUnderTest().runCheck(inputOn(stack)));
    expect(failure).toMatchObject({ type: 'SLIPWAY_NO_ANSWER', nonRetryable: false });
  });
});

describe('a check under way', () => {
  it('heartbeats its name, and cancels its run by leaving when it is canceled', async () => {
    let left = false;
    const stack = await startStack((_, response) => {
      response.on('close', () => (left = true));
      send(response, METADATA);
    });
    const activities = activitiesUnderTest();
    const canceled = expect(activities.runCheck(inputOn(stack))).rejects.toBeInstanceOf(CancelledFailure);
    await until(() => activities.heartbeats.length > 0);
    expect(activities.heartbeats[0]).toMatchObject({ says: 'check "greets" runs' });
    activities.environment.cancel();
    await canceled;
    await until(() => left);
  });
});
