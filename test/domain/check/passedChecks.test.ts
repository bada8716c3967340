import { expect, it } from 'vitest';

import { withDigests } from '../../../src/domain/check/passedChecks.ts';

const AT = '2026-07-14T12:00:00.000Z';

it('a copy has the checks that its original passed in the same release, also one that was made in vain', () => {
  const known = [
    { revisionId: 'original', verified: false, at: AT },
    { revisionId: 'copy', verified: false, at: AT, copyOf: 'original' },
    { revisionId: 'other', verified: true, at: AT, checks: 'kept before' },
  ];
  const passed = [{ revisionId: 'original', checks: [] }];
  expect(withDigests(known, passed, ['passed now']).map(({ checks }) => checks)).toEqual([
    'passed now',
    'passed now',
    'kept before',
  ]);
});
