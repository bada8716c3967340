import { expect, it } from 'vitest';

import { notifyOf } from '../../../../src/cli/commands/release/releaseRequest.ts';
import type { Git } from '../../../../src/cli/provenance.ts';
import type { ReceiverSpec } from '../../../../src/domain/notify/notice.ts';

const SLACK: ReceiverSpec = { kind: 'slack', name: 'ops', url: { from: 'env:U' } };
const GITHUB: ReceiverSpec = {
  kind: 'github_status',
  name: 'github',
  apiUrl: 'https://api.github.com',
  token: { from: 'env:T' },
};

function gitAt(url: string | undefined): Git {
  return (...args) => Promise.resolve(args.join(' ') === 'remote get-url origin' ? url : undefined);
}

it.each([
  ['git@github.com:owner/name.git', 'owner/name'],
  ['https://github.com/owner/name', 'owner/name'],
  ['https://token@github.com/owner/the.name.git/', 'owner/the.name'],
  ['ssh://git@ghe.example:7999/owner/name.git', 'owner/name'],
])('a receiver on GitHub gets the repository of the remote %s', async (url, repository) => {
  expect(await notifyOf([SLACK, GITHUB], {}, gitAt(url))).toEqual([SLACK, { ...GITHUB, repository }]);
});

it('the repository of GitHub Actions takes precedence over the remote, and the file’s over both', async () => {
  const environment = { GITHUB_ACTIONS: 'true', GITHUB_REPOSITORY: 'ci/name' };
  const named = { ...GITHUB, repository: 'file/name' };
  expect(await notifyOf([GITHUB, named], environment, gitAt('git@github.com:owner/name.git'))).toEqual([
    { ...GITHUB, repository: 'ci/name' },
    named,
  ]);
});

it('an unknown repository stays absent, and is not looked up if no receiver needs it', async () => {
  expect(await notifyOf([GITHUB], {}, gitAt(undefined))).toEqual([GITHUB]);
  const never: Git = () => Promise.reject(new Error('asked'));
  expect(await notifyOf([SLACK], {}, never)).toEqual([SLACK]);
});
