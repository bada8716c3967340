import { expect, it } from 'vitest';

import { lineProblem } from '../../support/jsonLines.ts';

const judgement = { side: null, code: 'SLIPWAY_NO_ANSWER', message: 'x' };

it.each([
  ['a field that its type does not have', { event: 'queued', reason: 'x', since: 'now' }, /^queued: since: /],
  ['a field that is missing', { event: 'queued' }, /^queued: reason: /],
  [
    'a field of another kind, at any depth',
    { event: 'judged', report: { error: judgement } },
    /report\/verdict: /,
  ],
  ['a time that is none', { event: 'silent', who: 'worker', since: 'yesterday' }, /^silent: since: /],
  ['an unknown event', { event: 'guessed' }, /^guessed: there is no such event/],
])('a line is invalid with %s', (_what, line, problem) => {
  expect(lineProblem({ schemaVersion: 1, ...line })).toMatch(problem);
});

it('a line must match one of the events of its name, and the problems are those of the nearest one', () => {
  expect(lineProblem({ event: 'ready', schemaVersion: 1, url: 'http://127.0.0.1:1' })).toBeUndefined();
  expect(lineProblem({ event: 'ready', schemaVersion: 1, url: 1 })).toMatch(/^ready: url: /);
});

it('a line requires its version', () => {
  expect(lineProblem({ event: 'answering', schemaVersion: 1 })).toBeUndefined();
  expect(lineProblem({ event: 'answering' })).toMatch(/^answering: schemaVersion: /);
});
