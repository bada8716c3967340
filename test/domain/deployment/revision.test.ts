import { describe, expect, it } from 'vitest';

import { revisionPhase } from '../../../src/domain/deployment/revision.ts';

describe('a revision’s status', () => {
  it.each([
    ...['CREATING', 'QUEUED', 'AWAITING_BUILD', 'BUILDING', 'AWAITING_DEPLOY', 'DEPLOYING', 'UNKNOWN'].map(
      (status) => [status, 'pending'],
    ),
    ['DEPLOYED', 'deployed'],
    ...['CREATE_FAILED', 'BUILD_FAILED', 'DEPLOY_FAILED', 'SKIPPED', 'INTERRUPTED'].map((status) => [
      status,
      'failed',
    ]),
    ['A_STATUS_OF_NEXT_YEAR', 'pending'],
    ['deployed', 'pending'],
    ['', 'pending'],
  ])('%s is %s', (status, phase) => {
    expect(revisionPhase(status)).toBe(phase);
  });
});
