import { expect, it } from 'vitest';

import { plannedAnswer } from '../../../src/domain/release/releasePlan.ts';
import { recordResult } from '../../../src/domain/target/targetResult.ts';
import { request, result, seasoned } from '../target/targets.ts';

it.each([
  ['serves, as far as is known', undefined, 'already_released'],
  ['serves', 'own', 'already_released'],
  ['was replaced by hand', 'before', 'queued'],
  ['was removed by hand', null, 'queued'],
])('a release whose revision %s is planned as the target would take it', (_what, active, disposition) => {
  const ended = result('release-1', { requestKey: 'a', revisionId: 'own', servingRevisionId: 'own' });
  const state = recordResult(seasoned(), ended, 0);
  expect(plannedAnswer({ state, running: null }, request('a'), active)).toMatchObject({ disposition });
});
