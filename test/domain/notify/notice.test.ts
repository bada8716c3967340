import { expect, it } from 'vitest';

import { receiversOf, type ReceiverSpec } from '../../../src/domain/notify/notice.ts';
import { releaseRequestProblem } from '../../../src/domain/release/requestProblem.ts';
import { FULL_REQUEST } from '../release/hostileRequests.ts';

const REF = { from: 'env:X' };
const GITHUB = { apiUrl: 'https://api.github.com', token: REF, repository: 'owner/name' };
const RIGHT: readonly ReceiverSpec[] = [
  { kind: 'slack', name: 'ops', url: REF, events: ['released', 'errored'] },
  { kind: 'webhook', name: 'audit', url: REF, secret: REF },
  { kind: 'github_deployment', name: 'deployments', ...GITHUB, environment: 'prod' },
  { kind: 'github_status', name: 'statuses', ...GITHUB, context: 'slipway' },
];

it('receivers as the command sends them are right, as are none', () => {
  expect(releaseRequestProblem({ ...FULL_REQUEST, notify: RIGHT })).toBeUndefined();
  expect(releaseRequestProblem({ ...FULL_REQUEST, notify: undefined })).toBeUndefined();
});

it.each<[string, unknown, string]>([
  ['no list', 'ops', '"notify" is not a list'],
  ['no receiver', [null], '"notify.0" is not an object'],
  ['a kind that there is not', [{ ...RIGHT[0], kind: 'pager' }], '"notify.0.kind" is none of slack, webhook'],
  ['no name', [{ ...RIGHT[0], name: '' }], '"notify.0.name" is not text'],
  ['an event that there is not', [{ ...RIGHT[0], events: ['exploded'] }], '"notify.0.events.0" is none of'],
  [
    'a URL that is no reference',
    [{ ...RIGHT[0], url: 'https://hooks.example/secret' }],
    '"notify.0.url" is not an object',
  ],
  ['a webhook without a secret', [{ ...RIGHT[1], secret: undefined }], '"notify.0.secret" is not an object'],
  ['no API', [{ ...RIGHT[2], apiUrl: undefined }], '"notify.0.apiUrl" is not text'],
  ['a repository that is no text', [{ ...RIGHT[2], repository: 7 }], '"notify.0.repository" is not text'],
  ['too many', Array.from({ length: 21 }, () => RIGHT[0]), '"notify" has more than 20 entries'],
])('a request with %s is refused', (_, notify, problem) => {
  expect(releaseRequestProblem({ ...FULL_REQUEST, notify })).toContain(problem);
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
