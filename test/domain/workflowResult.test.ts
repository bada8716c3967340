import { expect, it } from 'vitest';

import { resultInFailure, workflowResult } from '../../src/domain/workflowResult.ts';

const RESULT = { outcome: 'errored', reason: 'an answer never came' } as const;
const FAILURE = { type: 'errored', details: [RESULT] };

it('a completed workflow has its returned result', async () => {
  const released = { outcome: 'released' };
  expect(await workflowResult({ result: () => Promise.resolve(released) })).toBe(released);
});

it('a workflow that needs a person has the result in its failure', async () => {
  const failed = new Error('it failed', { cause: FAILURE });
  expect(await workflowResult({ result: () => Promise.reject(failed) })).toBe(RESULT);
});

it('a workflow that ended otherwise throws its failure', async () => {
  const terminated = new Error('terminated');
  await expect(workflowResult({ result: () => Promise.reject(terminated) })).rejects.toBe(terminated);
});

it.each([
  ['no failure', undefined],
  ['a failure without details', { type: 'errored', details: [] }],
  ['details of another kind', { type: 'errored', details: [{ outcome: 'released' }] }],
  ['a failed step', { type: 'SLIPWAY_NO_ANSWER', details: [{ code: 'SLIPWAY_NO_ANSWER', attempt: 1 }] }],
  ['details that cannot be read', { type: 'errored', details: ['a payload that cannot be read'] }],
  ['an event without a failure of ours', { type: undefined, details: null }],
])('no result is in %s', (_, failure) => {
  expect(resultInFailure(failure)).toBeUndefined();
});
