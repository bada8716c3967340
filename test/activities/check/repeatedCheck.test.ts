import { describe, expect, it } from 'vitest';

import type { Check } from '../../../src/domain/check/check.ts';
import type { Handler } from '../../clients/faultyService.ts';
import { activitiesUnderTest, OTHER_REVISION_ID, REVISION_ID } from '../activitiesUnderTest.ts';
import { CHECK, type Event, GREETED, inputOn, METADATA, runsOf, send, startStack } from './checkedStack.ts';

describe('a check that is repeated', () => {
  const REPEATED: Check = { ...CHECK, repeat: 5, pass: 4 };
  const WRONG = ['values', { greeting: 'Go away' }] as const;

  /** An agent whose runs have these events, one run after the other; then the last ones. */
  function runsLike(...runs: readonly (readonly Event[])[]): Handler {
    let made = 0;
    return (_, response) => {
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

  it.each([
    ['is asked once', CHECK, 1],
    ['is repeated', REPEATED, 2],
  ])('takes from its budget what an attempt took that failed, if it %s', async (_, check, runs) => {
    const active = [...Array<string>(runs).fill(REVISION_ID), OTHER_REVISION_ID];
    const asked = { ...inputOn(await startStack(runsLike([GREETED]), { active }), check), budget: { runs } };
    const first = activitiesUnderTest({ activityType: 'runCheck' });
    await expect(first.runCheck(asked)).rejects.toMatchObject({ type: 'SLIPWAY_NOT_SERVING' });
    const stack = await startStack(runsLike([GREETED]));
    const details = { attempt: 2, activityType: 'runCheck', heartbeatDetails: first.heartbeats.at(-1) };
    const again = { ...inputOn(stack, check), budget: { runs } };
    await expect(activitiesUnderTest(details).runCheck(again)).rejects.toMatchObject({
      type: 'SLIPWAY_CHECKS_BUDGET_SPENT',
    });
    expect(runsOf(stack)).toEqual([]);
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
