import { describe, expect, it } from 'vitest';

import { outcomeExitCode } from '../../../src/domain/release/outcome.ts';

describe('the exit code of an outcome', () => {
  it.each([
    ['release', 'released', 0],
    ['release', 'rolled_back', 2],
    ['release', 'failed', 2],
    ['release', 'rollback_failed', 3],
    ['release', 'errored', 3],
    ['release', 'aborted', 4],
    ['release', 'superseded', 4],
    ['release', 'rejected', 4],
    ['rollback', 'rolled_back', 0],
    ['rollback', 'failed', 2],
    ['rollback', 'rollback_failed', 3],
    ['rollback', 'errored', 3],
  ] as const)('of a %s that ends %s is %i', (kind, outcome, code) => {
    expect(outcomeExitCode(kind, outcome)).toBe(code);
  });
});
