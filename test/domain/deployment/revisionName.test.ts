import { describe, expect, it } from 'vitest';

import {
  findRevision,
  noRevision,
  revisionText,
  wordsOf,
} from '../../../src/domain/deployment/revisionName.ts';
import { NOW } from '../target/targets.ts';

const GOOD = '657565e3-0000-4000-8000-000000000001';
const COPY = '657565ff-0000-4000-8000-000000000002';
const BAD = 'abcdef01-0000-4000-8000-000000000003';
const FAILED = 'abcdef02-0000-4000-8000-000000000004';
const FOUND = 'abcdef03-0000-4000-8000-000000000006';
const ELSEWHERE = '99999999-0000-4000-8000-000000000005';

const SEEN = {
  known: [
    {
      revisionId: GOOD,
      verified: true,
      release: 'release-1',
      commit: 'c0ffee',
      artifact: 'image:agent:1',
      at: NOW,
    },
    { revisionId: BAD, verified: false, release: 'release-2', at: NOW },
    { revisionId: COPY, verified: true, release: 'release-1', copyOf: GOOD, at: NOW },
    { revisionId: FOUND, verified: false, at: NOW },
  ],
  history: [
    { releaseId: 'release-1', revisionId: GOOD, commit: 'c0ffee', artifact: 'agent:1' },
    { releaseId: 'release-4', revisionId: FAILED, commit: null, artifact: 'agent:2' },
    { releaseId: 'release-3', revisionId: FOUND, commit: null, artifact: 'agent:4' },
    { releaseId: 'release-5', revisionId: null, commit: null, artifact: 'agent:3' },
  ],
};

describe('the revision that a person names', () => {
  it.each([
    ['an id', GOOD, GOOD],
    ['an id in capitals', GOOD.toUpperCase(), GOOD],
    ['the beginning of an id', '657565e3', GOOD],
    ['a release: its newest verified copy', 'release-1', COPY],
    ['a release whose revision is not verified', 'release-2', BAD],
    ['a release that failed', 'release-4', FAILED],
    ['a release that failed, and whose revision a later release found to serve', 'release-3', FOUND],
    ['the beginning of an id that stands in the history alone', 'abcdef02', FAILED],
  ])('is found by %s', (_, named, revisionId) => {
    expect(findRevision(SEEN, named)).toEqual({ revisionId });
  });

  it('may be one that only the control plane knows', () => {
    expect(findRevision(SEEN, ELSEWHERE.toUpperCase())).toEqual({ askFor: ELSEWHERE });
  });

  it.each([
    ['a typo', 'relaese-1', 'no revision or release of this target is called "relaese-1"'],
    ['a release without a revision', 'release-5', 'is called "release-5"'],
    ['a release that there is not', 'release-9', 'is called "release-9"'],
    ['a beginning that is too short', '657', 'is called "657"'],
    ['a beginning that is none', '1234', 'is called "1234"'],
    ['the beginning of several', '657565', 'several revisions begin with "657565"'],
  ])('is not found by %s, and the error lists the choice', (_, named, because) => {
    const problem = findRevision(SEEN, named) as { problem: string };
    expect(problem.problem).toContain(because);
    expect(problem.problem).toContain(`revision ${COPY} (release-1)`);
    expect(problem.problem).toContain(`revision ${GOOD} (release-1, commit c0ffee, image:agent:1)`);
  });

  it('is not found on a target without revisions', () => {
    expect(noRevision({ known: [], history: [] }, ELSEWHERE)).toContain(
      'the target knows no verified revision',
    );
  });
});

describe('a revision in words', () => {
  it('has its known release, commit and artifact beside the id', () => {
    expect(revisionText(wordsOf(SEEN, ELSEWHERE))).toBe(`revision ${ELSEWHERE}`);
    const digest = `sha256:${'a'.repeat(64)}`;
    const words = { revisionId: GOOD, release: null, commit: '1'.repeat(40), artifact: digest };
    expect(revisionText(words)).toBe(`revision ${GOOD} (commit 111111111111, sha256:aaaaaaaaaaaa)`);
  });
});
