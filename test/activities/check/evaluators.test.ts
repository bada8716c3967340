import { createHmac } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';

import type { Check } from '../../../src/domain/check/check.ts';
import type { Evaluator } from '../../../src/domain/check/evaluator.ts';
import {
  closedPort,
  type FaultyService,
  inTurn,
  json,
  type SeenRequest,
  startService,
} from '../../clients/faultyService.ts';
import { activitiesUnderTest, failureOf, REVISION_ID, SECRET } from '../activitiesUnderTest.ts';
import { CHECK, type Event, GREETED, inputOn, runOf, runsOf, startStack } from './checkedStack.ts';
import { temporaryFolder } from '../../support/temporaryFolder.ts';

vi.mock('node:timers/promises', () => ({ setTimeout: vi.fn(() => Promise.resolve()) }));
const waits = (): unknown[] => vi.mocked(sleep).mock.calls.map(([ms]) => ms);
beforeEach(() => void vi.mocked(sleep).mockClear());

type Answer = Parameters<typeof startService>[0];

const scores = (score: unknown, comment?: string): Answer => {
  return (_, response) => json(response, 200, { score, comment });
};
const raw = (body: string): Answer => {
  return (_, response) => void response.setHeader('content-type', 'application/json').end(body);
};
const status = (code: number, headers: Record<string, string> = {}): Answer => {
  return (_, response) => {
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    json(response, code, { detail: `it is at odds with ${SECRET}` });
  };
};
const never: Answer = () => undefined;

/** An evaluator that answers so, one call after the other; then as the last one. */
function evaluatorThat(...answers: readonly Answer[]): Promise<FaultyService> {
  const answer = inTurn(answers);
  return startService((request, response) => answer()?.(request, response));
}

function of({ url }: { readonly url: string }, fields: Partial<Evaluator> = {}): Evaluator {
  return {
    name: 'tone',
    url: `${url}/score`,
    secret: { from: 'env:SLIPWAY_TEST_SECRET' },
    minScore: 0.8,
    timeoutMs: 10_000,
    onNoScore: 'fail',
    ...fields,
  };
}

const scoredBy = (...evaluators: readonly Evaluator[]): Check => ({ ...CHECK, evaluators });

async function stackOf(event: Event = GREETED): Promise<FaultyService> {
  return startStack(runOf(event));
}

async function verdictWith(check: Check, fields: { readonly restoring?: true } = {}) {
  const stack = await stackOf();
  return (await activitiesUnderTest().runCheck({ ...inputOn(stack, check), ...fields })).verdict;
}

describe('the evaluators of a check', () => {
  it('get the run, signed with the secret', async () => {
    const used = { messages: [{ type: 'ai', content: 'Hello, Ada', usage_metadata: { total_tokens: 30 } }] };
    const stack = await stackOf(['values', used]);
    const evaluator = await evaluatorThat(scores(0.9, 'friendly'));
    const check = { ...scoredBy(of(evaluator)), reference: 'Good morning' };
    const { verdict } = await activitiesUnderTest().runCheck(inputOn(stack, check));
    const [request] = evaluator.requests;
    const { body = '', headers } = request ?? {};
    expect(request).toMatchObject({ method: 'POST', url: '/score' });
    expect(JSON.parse(body)).toEqual({
      ...{ version: 1, evaluator: 'tone', check: 'greets', input: { name: 'Ada' } },
      ...{ answer: 'Hello, Ada', output: used, reference: 'Good morning' },
      run: {
        ...{ id: 'run-1', assistant: 'greeter', tokens: 30, revisionId: REVISION_ID, repetition: 1 },
        latencyMs: expect.any(Number),
      },
    });
    const [, time = '', digest] = /^t=(\d+),v1=(\w+)$/.exec(String(headers?.['slipway-signature'])) ?? [];
    expect(digest).toBe(createHmac('sha256', SECRET).update(`${time}.${body}`).digest('hex'));
    expect(Math.abs(Date.now() / 1_000 - Number(time))).toBeLessThan(60);
    expect(verdict).toMatchObject({ passed: true, reasons: [] });
    expect(verdict.scores).toEqual([
      { evaluator: 'tone', minScore: 0.8, scores: [0.9], comment: 'friendly', noScore: null },
    ]);
  });

  it('get no signature without a secret', async () => {
    const evaluator = await evaluatorThat(scores(1));
    await verdictWith(scoredBy(of(evaluator, { secret: undefined })));
    expect(evaluator.requests[0]?.headers).not.toHaveProperty('slipway-signature');
  });

  it('get all inputs of a conversation, and the values at its end', async () => {
    const evaluator = await evaluatorThat(scores(true));
    const agent = await startService((request, response) => {
      if (request.url.endsWith('/runs/stream')) runOf(GREETED)(request, response);
      else json(response, 200, threadAnswer(request.body));
    });
    const check = { ...scoredBy(of(evaluator)), turns: [{ input: { name: 'Ada' }, expect: {} }] };
    await activitiesUnderTest().runCheck({ ...inputOn(await stackOf(), check), agentUrl: agent.url });
    expect(JSON.parse(evaluator.requests[0]?.body ?? '')).toMatchObject({
      ...{ input: null, turns: [{ input: { name: 'Ada' } }], output: { greeting: 'Hello, Ada' } },
    });
  });

  it('fail a run with a score below minScore, and say why', async () => {
    const low = await evaluatorThat(scores(0.5, 'curt'));
    const high = await evaluatorThat(scores(1));
    const verdict = await verdictWith(scoredBy(of(low), of(high, { name: 'facts' })));
    expect(verdict).toMatchObject({
      passed: false,
      reasons: ['evaluator "tone" scored 0.5, at least 0.8 is needed: curt'],
    });
    expect(verdict.scores?.map(({ evaluator, scores: given }) => [evaluator, given])).toEqual([
      ['tone', [0.5]],
      ['facts', [1]],
    ]);
  });

  it('are not asked about a run that does not meet its expectation', async () => {
    const evaluator = await evaluatorThat(scores(1));
    const stack = await stackOf(['values', { greeting: 'Go away' }]);
    const { verdict } = await activitiesUnderTest().runCheck(inputOn(stack, scoredBy(of(evaluator))));
    expect(verdict).toMatchObject({ passed: false });
    expect(verdict.scores).toBeUndefined();
    expect(evaluator.requests).toEqual([]);
  });

  it('score each repetition, also after the worker died', async () => {
    const evaluator = await evaluatorThat(scores(0.9), scores(0.4, 'curt'), scores(0.85));
    const check = { ...scoredBy(of(evaluator)), repeat: 4, pass: 3 };
    const stack = await stackOf();
    const first = activitiesUnderTest({ activityType: 'runCheck' });
    const whole = await first.runCheck(inputOn(stack, check));
    expect(whole.verdict).toMatchObject({ passed: true, repetitions: { passed: 3, made: 4 } });
    expect(whole.verdict.scores).toMatchObject([{ scores: [0.9, 0.4, 0.85, 0.85], comment: 'curt' }]);
    const heartbeatDetails = first.heartbeats.find((sent) => JSON.stringify(sent).includes('"made":2'));
    const second = { attempt: 2, activityType: 'runCheck', heartbeatDetails };
    const rest = await activitiesUnderTest(second).runCheck(inputOn(stack, check));
    expect(rest.verdict.scores).toMatchObject([{ scores: [0.9, 0.4, 0.85, 0.85] }]);
    expect(runsOf(stack)).toHaveLength(6);
  });

  it.each([
    ['a connection that is cut', (_: SeenRequest, response: ServerResponse) => void response.destroy()],
    ['500', status(500)],
    ['429 without a time', status(429)],
    ['503', status(503)],
  ])('are asked again after %s', async (_, answer) => {
    const evaluator = await evaluatorThat(answer, answer, scores(1));
    expect(await verdictWith(scoredBy(of(evaluator)))).toMatchObject({ passed: true });
    expect(evaluator.requests).toHaveLength(3);
    expect(waits()).toEqual([1_000, 2_000]);
  });

  it('are waited for as long as they ask', async () => {
    const evaluator = await evaluatorThat(status(429, { 'retry-after': '7' }), scores(1));
    expect(await verdictWith(scoredBy(of(evaluator)))).toMatchObject({ passed: true });
    expect(waits()).toEqual([7_000]);
  });

  it('end the check if they do not answer, are named, and are no failure of the agent', async () => {
    const evaluator = await evaluatorThat(never);
    const stack = await stackOf();
    const check = scoredBy(of(evaluator, { timeoutMs: 40 }));
    const failure = await failureOf(activitiesUnderTest().runCheck(inputOn(stack, check)));
    expect(failure).toMatchObject({ type: 'SLIPWAY_EVALUATOR_FAILED', nonRetryable: true });
    expect(failure.message).toContain('evaluator "tone" gave no score');
    expect(failure.message).toContain('did not answer POST /score within 40ms, 5 times');
    expect(waits()).toEqual([1_000, 2_000, 4_000, 8_000]);
    expect(runsOf(stack)).toHaveLength(1);
  });

  it('end the check if nothing listens at their address, or an answer does not end', async () => {
    const dripping: Answer = (_, response) => void response.writeHead(200).write('{"score": 0.');
    const away = { url: await closedPort() };
    for (const [evaluator, words] of [
      [away, 'could not be reached: the connection was refused, 5 times'],
      [await evaluatorThat(dripping), 'did not answer POST /score within 40ms, 5 times'],
    ] as const) {
      const check = scoredBy(of(evaluator, { timeoutMs: 40 }));
      const failure = await failureOf(activitiesUnderTest().runCheck(inputOn(await stackOf(), check)));
      expect(failure).toMatchObject({ type: 'SLIPWAY_EVALUATOR_FAILED', nonRetryable: true });
      expect(failure.message).toContain(words);
    }
  });

  it.each([301, 302, 303, 307, 308])('are not followed to another origin by %i', async (code) => {
    const elsewhere = await evaluatorThat(scores(1));
    const evaluator = await evaluatorThat(status(code, { location: `${elsewhere.url}/score` }));
    const stack = await stackOf();
    const failure = await failureOf(activitiesUnderTest().runCheck(inputOn(stack, scoredBy(of(evaluator)))));
    expect(failure).toMatchObject({ type: 'SLIPWAY_EVALUATOR_FAILED', nonRetryable: true });
    expect(failure.message).toContain(`was answered with ${code}`);
    expect(elsewhere.requests).toEqual([]);
  });

  it('may comment at length: the verdict keeps 600 bytes', async () => {
    const evaluator = await evaluatorThat(scores(0.5, 'ü'.repeat(30_000)));
    const { scores: kept, reasons } = await verdictWith(scoredBy(of(evaluator)));
    const comment = kept?.[0]?.comment ?? '';
    expect(comment.startsWith('üüü')).toBe(true);
    expect(Buffer.byteLength(comment)).toBeLessThanOrEqual(600);
    expect(Buffer.byteLength(reasons.join())).toBeLessThan(700);
  });

  it.each([
    ['NaN', raw('{"score": NaN}'), 'not JSON, which has no NaN'],
    ['minus infinity', raw('{"score": -Infinity}'), 'no Infinity'],
    ['what is no JSON', raw('fine'), 'not JSON'],
    ['nothing', raw(''), 'not JSON'],
    ['text', scores('0.9'), 'score: expected a number from 0 to 1, or true or false'],
    ['more than 1', scores(1.01), 'score: '],
    ['less than 0', scores(-0.1), 'score: '],
    ['infinity', raw('{"score": 1e999}'), 'score: '],
    ['no score', raw('{"comment": "fine"}'), 'score: '],
    ['null', scores(null), 'score: '],
    ['a list', raw('[0.9]'), 'not a score'],
    ['a comment that is none', raw('{"score": 1, "comment": {}}'), 'comment: expected text'],
    ['a rejection', status(400), 'was answered with 400: it is at odds with [removed]'],
    ['that the signature is wrong', status(401), 'give the evaluator the secret'],
    ['to wait for too long', status(429, { 'retry-after': '31' }), 'it asks to wait for 31 s'],
    ['far too much', raw(`{"score": 1, "comment": "${'x'.repeat(70_000)}"}`), 'more than 65536 bytes'],
  ])('give no score with %s, and are not asked again', async (_, answer, words) => {
    const evaluator = await evaluatorThat(answer);
    const stack = await stackOf();
    const failure = await failureOf(activitiesUnderTest().runCheck(inputOn(stack, scoredBy(of(evaluator)))));
    expect(failure).toMatchObject({ type: 'SLIPWAY_EVALUATOR_FAILED', nonRetryable: true });
    expect(failure.message).toContain('evaluator "tone" gave no score');
    expect(failure.message).toContain(words);
    expect(evaluator.requests).toHaveLength(1);
  });

  it('leave the verdict to the expectation without a score, and the verdict says so', async () => {
    const evaluator = await evaluatorThat(raw('{"score": NaN}'), scores(0.9));
    const check = { ...scoredBy(of(evaluator, { onNoScore: 'pass' })), repeat: 2 };
    const verdict = await verdictWith(check);
    expect(verdict).toMatchObject({ passed: true, repetitions: { passed: 2, made: 2 } });
    expect(verdict.scores).toMatchObject([
      { scores: [null, 0.9], noScore: expect.stringContaining('evaluator "tone" gave no score') as string },
    ]);
  });

  it('never end the check of a revision that is restored', async () => {
    const evaluator = await evaluatorThat(status(400));
    expect(await verdictWith(scoredBy(of(evaluator)), { restoring: true })).toMatchObject({ passed: true });
  });

  it('fail a run with another’s low score, whether or not they gave one', async () => {
    const away = await evaluatorThat(status(400));
    const low = await evaluatorThat(scores(0));
    const verdict = await verdictWith(scoredBy(of(away), of(low, { name: 'facts' })));
    expect(verdict).toMatchObject({ passed: false });
    expect(verdict.reasons).toEqual(['evaluator "facts" scored 0, at least 0.8 is needed']);
  });

  it('are not called without a secret that they need', async () => {
    const evaluator = await evaluatorThat(scores(1));
    const stack = await stackOf();
    const check = scoredBy(of(evaluator, { secret: { from: 'env:NOT_SET' } }));
    const failure = await failureOf(activitiesUnderTest().runCheck(inputOn(stack, check)));
    expect(failure.message).toContain('evaluator "tone" gave no score: the secret "env:NOT_SET" is not set');
    expect(evaluator.requests).toEqual([]);
  });

  it('are not given a secret that is meant for another origin', async () => {
    const evaluator = await evaluatorThat(scores(1));
    const stack = await stackOf();
    const folder = await temporaryFolder();
    const file = join(folder, 'origins.yaml');
    const origins = {
      'env:SLIPWAY_TEST_API_KEY': [stack.url],
      'env:SLIPWAY_TEST_SECRET': ['https://evaluators.example'],
    };
    await writeFile(file, JSON.stringify(origins));
    vi.stubEnv('SLIPWAY_SECRET_ORIGINS', file);
    onTestFinished(() => void vi.stubEnv('SLIPWAY_SECRET_ORIGINS', ''));
    const failure = await failureOf(activitiesUnderTest().runCheck(inputOn(stack, scoredBy(of(evaluator)))));
    expect(failure.message).toContain('must not be sent to');
    expect(evaluator.requests).toEqual([]);
  });

  it('cannot put a secret into a verdict', async () => {
    const evaluator = await evaluatorThat(scores(0.5, `I know ${SECRET}`));
    const verdict = await verdictWith(scoredBy(of(evaluator)));
    expect(verdict.reasons[0]).toContain('I know [removed]');
    expect(verdict.scores).toMatchObject([{ comment: 'I know [removed]' }]);
  });
});

function threadAnswer(body: string): object {
  const { thread_id: id } = JSON.parse(body === '' ? '{}' : body) as { readonly thread_id?: string };
  const at = '2026-11-21T10:00:00Z';
  return { thread_id: id, created_at: at, updated_at: at, metadata: {}, status: 'idle', values: null };
}
