import { expect, it } from 'vitest';

import { isOutOfTime, isTemporalSilent, isWorkerSilent } from '../../src/temporal/temporalError.ts';

it.each([
  ['the deadline passed here', 4],
  ['the deadline passed there, and the call came back cancelled', 1],
])('a call ran out of time where %s', (_what, code) => {
  expect(isOutOfTime(grpcError(code))).toBe(true);
  expect(isOutOfTime(new Error('a query', { cause: grpcError(code) }))).toBe(true);
  expect(isTemporalSilent(grpcError(code))).toBe(true);
});

it.each([
  ['no worker polls', 9],
  ['Temporal is away', 14],
  ['there is no such workflow', 5],
])('a call did not run out of time where %s', (_what, code) => {
  expect(isOutOfTime(grpcError(code))).toBe(false);
});

it('a worker is silent where Temporal says so, and Temporal itself is not', () => {
  expect(isWorkerSilent(grpcError(9))).toBe(true);
  expect(isTemporalSilent(grpcError(9))).toBe(false);
});

function grpcError(code: number): Error {
  return Object.assign(new Error(`${code}`), { code, details: 'as the server says', metadata: {} });
}
