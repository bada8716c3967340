import { expect, it } from 'vitest';

import { receiversOf, type ReceiverSpec } from '../../../src/domain/notify/receiver.ts';
import { receiversProblem } from '../../../src/domain/notify/receiverProblem.ts';
import { releaseRequestProblem } from '../../../src/domain/requestProblem.ts';
import { request } from '../targets.ts';

const REF = { from: 'env:X' };
const GITHUB = { apiUrl: 'https://api.github.com', token: REF, repository: 'owner/name' };
const RIGHT: readonly ReceiverSpec[] = [
  { kind: 'slack', name: 'ops', url: REF, events: ['released', 'errored'] },
  { kind: 'webhook', name: 'audit', url: REF, secret: REF },
  { kind: 'github_deployment', name: 'deployments', ...GITHUB, environment: 'prod' },
  { kind: 'github_status', name: 'statuses', ...GITHUB, context: 'slipway' },
];

it('receivers as the command sends them are right, as are none', () => {
  expect(receiversProblem(RIGHT)).toBeUndefined();
  expect(receiversProblem(undefined)).toBeUndefined();
  expect(releaseRequestProblem(request('a', { notify: RIGHT }))).toBeUndefined();
});

it.each<[string, unknown]>([
  ['no list', 'ops'],
  ['no receiver', [null]],
  ['a kind that there is not', [{ ...RIGHT[0], kind: 'pager' }]],
  ['no name', [{ ...RIGHT[0], name: '' }]],
  ['an event that there is not', [{ ...RIGHT[0], events: ['exploded'] }]],
  ['a URL that is no reference', [{ ...RIGHT[0], url: 'https://hooks.example/secret' }]],
  ['a webhook without a secret', [{ ...RIGHT[1], secret: undefined }]],
  ['no API', [{ ...RIGHT[2], apiUrl: undefined }]],
  ['a repository that is no text', [{ ...RIGHT[2], repository: 7 }]],
  ['too many', Array.from({ length: 21 }, () => RIGHT[0])],
])('a request with %s is refused', (_, notify) => {
  expect(releaseRequestProblem({ ...request('a'), notify })).toBe(
    '"notify" is not a list of at most 20 receivers',
  );
});

it('who names events is told of those, who names none of everything', () => {
  expect(receiversOf(RIGHT, 'released').map(({ name }) => name)).toEqual([
    'ops',
    'audit',
    'deployments',
    'statuses',
  ]);
  expect(receiversOf(RIGHT, 'failed').map(({ name }) => name)).not.toContain('ops');
});
