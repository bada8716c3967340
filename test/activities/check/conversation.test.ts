import { describe, expect, it } from 'vitest';

import type { Check } from '../../../src/domain/check/check.ts';
import { type FaultyService, json, startService } from '../../clients/faultyService.ts';
import {
  activitiesUnderTest,
  DEPLOYMENT_PATH,
  deploymentAnswer,
  REVISION_ID,
} from '../activitiesUnderTest.ts';
import { CHECK, type Event, GREETED, inputOn, METADATA, send } from './checkedStack.ts';

describe('a conversation', () => {
  const TURNS: NonNullable<Check['turns']> = [
    { input: { name: 'Ada' }, expect: { status: 'interrupted' } },
    { resume: 'yes', expect: { contains: 'Hello' } },
  ];
  const CONVERSATION: Check = { ...CHECK, input: {}, expect: {}, turns: TURNS };
  const ASKED = ['values', { __interrupt__: [{ value: 'sure?' }] }] as const;

  /** An agent whose runs on a thread have these events, one run after the other. */
  function startTalker(...runs: readonly (readonly Event[])[]): Promise<FaultyService> {
    return startTalkerOn((asked) => asked, runs);
  }

  /**
   * @param threadOf - the id of a thread that is asked for with this one.
   * @param isLeft - whether an earlier attempt has left its thread.
   */
  function startTalkerOn(
    threadOf: (asked: string) => string,
    runs: readonly (readonly Event[])[],
    isLeft = false,
  ): Promise<FaultyService> {
    let made = 0;
    return startService(({ method, url, body }, response) => {
      if (url === DEPLOYMENT_PATH) {
        json(response, 200, deploymentAnswer({ active_revision_id: REVISION_ID }));
      } else if (method === 'DELETE') {
        isLeft = false;
        response.writeHead(204).end();
      } else if (url === '/threads') {
        const now = new Date().toISOString();
        const thread = { created_at: now, updated_at: now, metadata: {}, status: 'idle', values: null };
        const { thread_id: asked } = JSON.parse(body) as { thread_id: string };
        if (isLeft) json(response, 409, {});
        else json(response, 200, { ...thread, thread_id: threadOf(asked) });
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

  it('uses the thread that the agent made, and waits for the run before', async () => {
    const own = '44444444-4444-4444-8444-444444444444';
    const stack = await startTalkerOn(() => own, [[ASKED], [GREETED]]);
    await activitiesUnderTest().runCheck(inputOn(stack, CONVERSATION));
    const runs = stack.requests.filter(({ url }) => url === `/threads/${own}/runs/stream`);
    expect(runs.map(({ body }) => JSON.parse(body) as unknown)).toEqual([
      expect.objectContaining({ multitask_strategy: 'enqueue' }),
      expect.objectContaining({ multitask_strategy: 'enqueue' }),
    ]);
    expect(sent(stack, 'DELETE')).toEqual([`/threads/${own}`]);
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

  it('takes the tokens of each message from the budget once, also if a later run has it, too', async () => {
    const person = { type: 'human', content: 'Book it' };
    const agent = { type: 'ai', content: 'Hello', usage_metadata: { total_tokens: 30 } };
    const [, asked] = ASKED;
    const runs = [
      { messages: [person, agent], ...asked },
      { messages: [person, agent, agent], ...asked },
      // The graph adds what the person answered, and begins anew after it.
      { messages: [person, agent, agent, person, agent] },
      { messages: [person, agent, agent, person, agent, person, agent] },
    ];
    const stack = await startTalker(...runs.map((values) => [['values', values] as const]));
    const turns = [
      TURNS[0]!,
      { resume: 1, expect: TURNS[0]!.expect },
      TURNS[1]!,
      { input: {}, expect: TURNS[1]!.expect },
    ];
    const { spent } = await activitiesUnderTest().runCheck({
      ...inputOn(stack, { ...CONVERSATION, turns }),
      budget: { tokens: 1_000 },
    });
    expect(spent).toMatchObject({ runs: 4, tokens: 4 * 30 });
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

  it('removes what its own attempt left before the activity was reset', async () => {
    const stack = await startTalkerOn((asked) => asked, [[ASKED], [GREETED]], true);
    const { verdict } = await activitiesUnderTest().runCheck(inputOn(stack, CONVERSATION));
    expect(verdict.passed).toBe(true);
    expect(new Set(sent(stack, 'DELETE')).size).toBe(1);
  });
});
