import { expect, it } from 'vitest';

import { receiversOf } from '../../../src/domain/notify/notice.ts';
import { FULL_REQUEST } from '../release/hostileRequests.ts';

it('a receiver that names events is notified of those, one that names none of every event', () => {
  const names = (event: 'released' | 'failed'): string[] =>
    receiversOf(FULL_REQUEST.notify, event).map(({ name }) => name);
  expect(names('released')).toEqual(['ops', 'audit', 'deployments', 'statuses']);
  expect(names('failed')).toEqual(['audit', 'deployments', 'statuses']);
});
