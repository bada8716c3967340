import { expect, it } from 'vitest';

import { receiversOf } from '../../../src/domain/notify/notice.ts';
import { FULL_REQUEST } from '../release/hostileRequests.ts';

it('a receiver with a list of events gets only those, one without a list gets all', () => {
  const names = (event: 'released' | 'failed'): string[] =>
    receiversOf(FULL_REQUEST.notify, event).map(({ name }) => name);
  expect(names('released')).toEqual(['ops', 'audit', 'deployments', 'statuses']);
  expect(names('failed')).toEqual(['audit', 'deployments', 'statuses']);
});
