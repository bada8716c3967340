import { expect, it } from 'vitest';

import { readWords } from '../../../../src/cli/commands/show/show.ts';

it.each([
  [[], 'latest', undefined],
  [['release-2'], 'release-2', undefined],
  [['release-2', 'staging'], 'release-2', 'staging'],
  [['staging', 'release-2'], 'release-2', 'staging'],
  [['staging'], 'latest', 'staging'],
  [['release-2', 'elsewhere'], 'release-2', 'elsewhere'],
])('slipway show reads the release and the target in either order: %j', (words, release, target) => {
  expect(readWords(words, false, ['staging', 'live'])).toEqual({ release, other: undefined, target });
});
