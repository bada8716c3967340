import { describe, expect, it } from 'vitest';

import { readPush } from '../../src/messages/preview.ts';
import { releaseRequest } from '../workflows/requests.ts';

const PUSH = {
  terms: {
    name: 'pull-request',
    pr: 7,
    ttlMs: 60_000,
    comment: {
      kind: 'gitlab',
      apiUrl: 'https://gitlab.test/api/v4',
      token: { from: 'env:TOKEN' },
      repository: 'group/sub/agent',
    },
  },
  request: releaseRequest('world', 'a'),
};

const withTerms = (terms: object): unknown => ({ ...PUSH, terms: { ...PUSH.terms, ...terms } });
const withComment = (comment: object): unknown =>
  withTerms({ comment: { ...PUSH.terms.comment, ...comment } });

describe('a push', () => {
  it('is accepted with and without a comment', () => {
    expect(readPush(PUSH)).toBe(PUSH);
    expect(readPush(withTerms({ comment: undefined }))).toBeTypeOf('object');
  });

  it.each<[string, unknown]>([
    ['no object', 'push'],
    ['nothing', undefined],
    ['no terms', { request: PUSH.request }],
    ['no release', { terms: PUSH.terms }],
    ['a release that the target refuses', { ...PUSH, request: { ...PUSH.request, checks: 'all' } }],
    ['no number', withTerms({ pr: '7' })],
    ['pull request 0', withTerms({ pr: 0 })],
    ['no deadline', withTerms({ ttlMs: 0 })],
    ['a deadline that never comes', withTerms({ ttlMs: Infinity })],
    ['another kind of comment', withComment({ kind: 'bitbucket' })],
    ['a token itself', withComment({ token: { from: 'ghp_secret' } })],
    ['a repository that leaves its path', withComment({ repository: '../../user?' })],
    ['an API that is no address', withComment({ apiUrl: 'javascript:1' })],
  ])('is rejected: %s', (_, push) => {
    expect(readPush(push)).toBeTypeOf('string');
  });
});
