import type { ServerResponse } from 'node:http';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { CancelledFailure } from '@temporalio/activity';
import { describe, expect, it, onTestFinished } from 'vitest';

import { openArtifactStore } from '../../../src/artifact/openArtifactStore.ts';
import { jsonBytes } from '../../../src/domain/bounds.ts';
import type { Check } from '../../../src/domain/check/check.ts';
import { type FaultyService, json, startService, until } from '../../clients/faultyService.ts';
import {
  activitiesUnderTest,
  DEPLOYMENT_PATH,
  deploymentAnswer,
  failureOf,
  OTHER_REVISION_ID,
  REVISION_ID,
  revisionOn,
  type Routes,
  startRoutes,
} from '../activitiesUnderTest.ts';

const CHECK: Check = {
  name: 'greets',
  assistant: 'greeter',
  input: { name: 'Ada' },
  expect: { contains: 'Hello' },
  timeoutMs: 10_000,
};
const WITH_FEEDBACK: Check = { ...CHECK, feedbackKey: 'smoke' };
const METADATA = ['metadata', { run_id: 'run-1' }] as const;
const GREETED = ['values', { greeting: 'Hello, Ada' }] as const;

type Event = readonly [name: string, data: unknown];

function send(response: ServerResponse, ...events: readonly Event[]): void {
  if (!response.headersSent) response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const [name, data] of events) response.write(`event: ${name}\ndata: ${JSON.stringify(data)}\n\n`);
}

/** A control plane and its agent in one; `active` are the active revisions, one at each look, then the last. */
function startStack(
  run: Routes[string],
  {
    active = [REVISION_ID],
    ...routes
  }: { active?: readonly (string | null)[] } & Record<string, unknown> = {},
): Promise<FaultyService> {
  let looks = 0;
  return startRoutes({
    [`GET ${DEPLOYMENT_PATH}`]: (response) => {
      json(
        response,
        200,
        deploymentAnswer({ active_revision_id: active[Math.min(looks, active.length - 1)] }),
      );
      looks += 1;
    },
    'POST /runs/stream': run,
    ...(routes as Routes),
  });
}

/** Nothing is kept there unless an answer is long. */
const STORE = join(tmpdir(), `slipway-answers-${process.pid}`);

function inputOn(stack: FaultyService, check: Check = CHECK) {
  return { ...revisionOn(stack.url), agentUrl: stack.url, store: STORE, check };
}

/** An agent's run with these events, ended as it should be. */
function runOf(...events: readonly Event[]): Routes[string] {
  return (response) => {
    send(response, METADATA, ...events);
    response.end();
  };
}

function runsOf(stack: FaultyService): unknown[] {
  const runs = stack.requests.filter(({ url }) => url === '/runs/stream');
  return runs.map(({ body }) => JSON.parse(body) as unknown);
}

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
    const { verdict } = await activitiesUnderTest().runCheck(inputOn(stack));
    expect(jsonBytes(verdict)).toBeLessThan(1_000);
    expect(verdict.answerRecord).toMatch(/^_answers\/[0-9a-f]{64}\.json$/);
    expect(await openArtifactStore(STORE).getRecord(verdict.answerRecord ?? '')).toBe(greeting);
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

  it('is none where the stream ends before any values: it is asked again', async () => {
    const stack = await startStack(runOf());
    await expect(activitiesUnderTest().runCheck(inputOn(stack))).rejects.toMatchObject({
      type: 'SLIPWAY_BAD_ANSWER',
      nonRetryable: false,
    });
  });

  it.each([
    ['does not end in time', (response: ServerResponse) => send(response, METADATA, GREETED)],
    ['does not begin in time', () => undefined],
  ])('counts a run that %s as not passed', async (_, run) => {
    const stack = await startStack(run);
    const { verdict } = await activitiesUnderTest().runCheck(inputOn(stack, { ...CHECK, timeoutMs: 300 }));
    expect(verdict.passed).toBe(false);
    expect(verdict.reasons[0]).toContain('ended "timeout"');
    expect(verdict.latencyMs).toBeGreaterThan(250);
  });
});

describe('a check’s feedback', () => {
  /** An agent that gives a link to itself. */
  const run: Routes[string] = (response, { headers }) => {
    const link = `http://${headers.host}/api/v1/feedback/tokens/signature=1`;
    send(response, METADATA, ['feedback', { smoke: link }], ['values', { greeting: 'Go away' }]);
    response.end();
  };
  const LINK = 'POST /api/v1/feedback/tokens/signature=1';

  it('is recorded through the run’s own link, with score and reasons', async () => {
    const stack = await startStack(run, { [LINK]: (response: ServerResponse) => json(response, 200, {}) });
    const { verdict } = await activitiesUnderTest().runCheck(inputOn(stack, WITH_FEEDBACK));
    expect(verdict.feedbackRecorded).toBe(true);
    expect(runsOf(stack)).toMatchObject([{ feedback_keys: ['smoke'] }]);
    const recorded = stack.requests.find(({ url }) => url.startsWith('/api/v1/feedback'));
    expect(JSON.parse(recorded?.body ?? '')).toEqual({ score: 0, comment: verdict.reasons.join('; ') });
    expect(recorded?.headers['x-api-key']).toBeUndefined();
  });

  it('leaves the verdict as it is where the link fails', async () => {
    const stack = await startStack(run, { [LINK]: (response: ServerResponse) => json(response, 500, {}) });
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
    const stack = await startStack((response) => {
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
    const stack = await startStack((response) => {
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

describe('a conversation', () => {
  const TURNS: NonNullable<Check['turns']> = [
    { input: { name: 'Ada' }, expect: { status: 'interrupted' } },
    { resume: 'yes', expect: { contains: 'Hello' } },
  ];
  const CONVERSATION: Check = { ...CHECK, input: {}, expect: {}, turns: TURNS };
  const ASKED = ['values', { __interrupt__: [{ value: 'sure?' }] }] as const;

  /** An agent whose runs on a thread have these events, one run after the other. */
  function startTalker(...runs: readonly (readonly Event[])[]): Promise<FaultyService> {
    let made = 0;
    return startService(({ method, url, body }, response) => {
      if (url === DEPLOYMENT_PATH) {
        json(response, 200, deploymentAnswer({ active_revision_id: REVISION_ID }));
      } else if (method === 'DELETE') {
        response.writeHead(204).end();
      } else if (url === '/threads') {
        const now = new Date().toISOString();
        const thread = { created_at: now, updated_at: now, metadata: {}, status: 'idle', values: null };
        json(response, 200, { ...thread, thread_id: (JSON.parse(body) as { thread_id: string }).thread_id });
      } else {
        send(response, METADATA, ...(runs[made++] ?? []));
        response.end();
      }
    });
  }

  const sent = (stack: FaultyService, method: string): string[] =>
    stack.requests.filter((request) => request.method === method).map(({ url }) => url);

  it('is runs on one thread, which is removed afterwards', async () => {
    const stack = await startTalker([ASKED], [GREETED]);
    const { verdict } = await activitiesUnderTest().runCheck(inputOn(stack, CONVERSATION));
    expect(verdict).toMatchObject({ passed: true, reasons: [], answer: '{"greeting":"Hello, Ada"}' });
    const [thread] = stack.requests.filter(({ url }) => url === '/threads');
    const { thread_id: id } = JSON.parse(thread?.body ?? '') as { thread_id: string };
    expect(sent(stack, 'DELETE')).toEqual([`/threads/${id}`]);
    const runs = stack.requests.filter(({ url }) => url === `/threads/${id}/runs/stream`);
    expect(runs.map(({ body }) => JSON.parse(body) as unknown)).toEqual([
      expect.objectContaining({ input: { name: 'Ada' } }),
      expect.objectContaining({ command: { resume: 'yes' } }),
    ]);
  });

  it('ends with the first turn that does not meet its expectation, which the verdict names', async () => {
    const stack = await startTalker([GREETED]);
    const { verdict } = await activitiesUnderTest().runCheck(inputOn(stack, CONVERSATION));
    expect(verdict).toMatchObject({
      passed: false,
      reasons: ['turn 1 of 2: the run ended "success" instead of "interrupted"'],
    });
    expect(sent(stack, 'DELETE')).toHaveLength(1);
  });

  it('removes its thread also if a run cannot be made, and the next attempt removes what is left', async () => {
    const stack = await startTalker([ASKED], []);
    await expect(activitiesUnderTest().runCheck(inputOn(stack, CONVERSATION))).rejects.toMatchObject({
      type: 'SLIPWAY_BAD_ANSWER',
    });
    expect(sent(stack, 'DELETE')).toHaveLength(1);
    const again = await startTalker([ASKED], [GREETED]);
    await activitiesUnderTest({ attempt: 2 }).runCheck(inputOn(again, CONVERSATION));
    expect(sent(again, 'DELETE')[0]).toBe(sent(stack, 'DELETE')[0]);
    expect(new Set(sent(again, 'DELETE')).size).toBe(2);
  });
});

describe('a check that is repeated', () => {
  const REPEATED: Check = { ...CHECK, repeat: 5, pass: 4 };
  const WRONG = ['values', { greeting: 'Go away' }] as const;

  /** An agent whose runs have these events, one run after the other; then the last ones. */
  function runsLike(...runs: readonly (readonly Event[])[]): Routes[string] {
    let made = 0;
    return (response) => {
      send(response, METADATA, ...(runs[Math.min(made, runs.length - 1)] ?? []));
      made += 1;
      response.end();
    };
  }

  it('passes once enough repetitions have passed', async () => {
    const stack = await startStack(runsLike([GREETED], [WRONG], [GREETED]));
    const { verdict } = await activitiesUnderTest().runCheck(inputOn(stack, REPEATED));
    expect(runsOf(stack)).toHaveLength(5);
    expect(verdict).toMatchObject({
      passed: true,
      reasons: [],
      answer: '{"greeting":"Go away"}',
      repetitions: { passed: 4, made: 5, needed: 4, planned: 5 },
    });
  });

  it('fails once too many have failed, and shows the first of them', async () => {
    const stack = await startStack(runsLike([GREETED], [WRONG]));
    const { verdict } = await activitiesUnderTest().runCheck(inputOn(stack, REPEATED));
    expect(runsOf(stack)).toHaveLength(3);
    expect(verdict).toMatchObject({ passed: false, repetitions: { passed: 1, made: 3 } });
    expect(verdict.reasons[0]).toBe('1 of 3 runs passed, 4 of 5 must pass');
    expect(verdict.reasons[1]).toContain('does not contain "Hello"');
  });

  it('goes on, in the next attempt, with the repetitions that are done', async () => {
    const broken = await startStack(runsLike([GREETED], [WRONG], [GREETED], []));
    const first = activitiesUnderTest({ activityType: 'runCheck' });
    await expect(first.runCheck(inputOn(broken, REPEATED))).rejects.toMatchObject({
      type: 'SLIPWAY_BAD_ANSWER',
    });
    const stack = await startStack(runsLike([GREETED]));
    const details = { attempt: 2, activityType: 'runCheck', heartbeatDetails: first.heartbeats.at(-1) };
    const { verdict } = await activitiesUnderTest(details).runCheck(inputOn(stack, REPEATED));
    expect(runsOf(stack)).toHaveLength(2);
    expect(verdict).toMatchObject({ passed: true, repetitions: { passed: 4, made: 5 } });
  });

  it('begins again in the next round of a watch', async () => {
    const round = activitiesUnderTest({ activityType: 'watchRevision' });
    const stack = await startStack(runsLike([GREETED]));
    await round.runCheck(inputOn(stack, REPEATED));
    const details = { activityType: 'watchRevision', heartbeatDetails: round.heartbeats.at(-1) };
    await activitiesUnderTest(details).runCheck(inputOn(stack, REPEATED));
    expect(runsOf(stack)).toHaveLength(8);
  });

  it('counts no repetition during which another revision was active', async () => {
    const active = [REVISION_ID, REVISION_ID, OTHER_REVISION_ID];
    const stack = await startStack(runsLike([GREETED]), { active });
    await expect(activitiesUnderTest().runCheck(inputOn(stack, REPEATED))).rejects.toMatchObject({
      type: 'SLIPWAY_NOT_SERVING',
    });
    expect(runsOf(stack)).toHaveLength(2);
  });

  it('tells what it took of its budget', async () => {
    const used = { messages: [{ type: 'ai', content: 'Hello', usage_metadata: { total_tokens: 30 } }] };
    const stack = await startStack(runsLike([['values', used]]));
    const budget = { runs: 10, tokens: 200 };
    const { spent } = await activitiesUnderTest().runCheck({ ...inputOn(stack, REPEATED), budget });
    expect(spent).toEqual({ runs: 4, tokens: 120, timeMs: expect.any(Number) });
  });

  it.each([
    [{ runs: 3 }, 3, '1 more of the 3 runs that were left'],
    [{ tokens: 50 }, 2, 'more than the 50 tokens that were left'],
    [{ timeMs: 0 }, 0, 'more than the 0ms that were left'],
  ])('is not decided if the budget %j is spent', async (budget, runs, words) => {
    const used = { messages: [{ type: 'ai', content: 'Hello', usage_metadata: { total_tokens: 30 } }] };
    const stack = await startStack(runsLike([['values', used]]));
    await expect(
      activitiesUnderTest().runCheck({ ...inputOn(stack, REPEATED), budget }),
    ).rejects.toMatchObject({
      type: 'SLIPWAY_CHECKS_BUDGET_SPENT',
      nonRetryable: true,
      message: expect.stringContaining(words),
    });
    expect(runsOf(stack)).toHaveLength(runs);
  });
});
