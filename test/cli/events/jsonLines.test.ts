import { expect, it } from 'vitest';

import { eventProblem, lineProblem } from '../../support/jsonLines.ts';

const judgement = { side: null, code: 'SLIPWAY_NO_ANSWER', message: 'x' };

it.each([
  [
    'a field that its schema does not have',
    { event: 'queued', reason: 'x', since: 'now' },
    /^queued: .*since/,
  ],
  ['a field that is missing', { event: 'queued' }, /^queued: reason: /],
  [
    'a field of another kind, however deep',
    { event: 'judged', report: { error: judgement } },
    /report\.verdict: /,
  ],
  ['an event that nobody knows', { event: 'guessed' }, /^guessed: there is no such event/],
])('an event is not right that has %s', (_what, event, problem) => {
  expect(eventProblem(event)).toMatch(problem);
});

it('one of several lines of an event has to fit, and what is wrong with the nearest one is told', () => {
  expect(eventProblem({ event: 'ready', url: 'http://127.0.0.1:1' })).toBeUndefined();
  expect(eventProblem({ event: 'ready', url: 1 })).toMatch(/^ready: url: /);
});

it('a line is right with its version alone', () => {
  expect(lineProblem({ event: 'answering', schemaVersion: 1 })).toBeUndefined();
  expect(lineProblem({ event: 'answering' })).toContain('no schemaVersion 1');
});
