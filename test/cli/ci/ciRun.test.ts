import { describe, expect, it } from 'vitest';

import { ciRun } from '../../../src/cli/ci/ciRun.ts';

describe('the run of a CI system', () => {
  it.each([
    [
      'github',
      'CI=true GITHUB_ACTIONS=true GITHUB_ACTOR=ada GITHUB_SHA=c GITHUB_REF_NAME=main ' +
        'GITHUB_SERVER_URL=https://ghe GITHUB_REPOSITORY=acme/agent GITHUB_RUN_ID=42',
      'https://ghe/acme/agent/actions/runs/42',
    ],
    [
      'gitlab',
      'CI=true GITLAB_CI=true GITLAB_USER_LOGIN=ada CI_COMMIT_SHA=c CI_COMMIT_REF_NAME=main CI_JOB_URL=https://gl/jobs/1',
      'https://gl/jobs/1',
    ],
    [
      'buildkite',
      'CI=true BUILDKITE=true BUILDKITE_BUILD_CREATOR=ada BUILDKITE_COMMIT=c BUILDKITE_TAG= ' +
        'BUILDKITE_BRANCH=main BUILDKITE_BUILD_URL=https://bk/1',
      'https://bk/1',
    ],
    [
      'circleci',
      'CI=true CIRCLECI=true CIRCLE_USERNAME=ada CIRCLE_SHA1=c CIRCLE_BRANCH=main CIRCLE_BUILD_URL=https://cc/1',
      'https://cc/1',
    ],
    [
      'jenkins',
      'JENKINS_URL=https://j BUILD_URL=https://j/1 BUILD_USER_ID=ada GIT_COMMIT=c BRANCH_NAME=main',
      'https://j/1',
    ],
  ])('of %s has the requester, the source, the commit and the branch', (system, variables, from) => {
    const environment = Object.fromEntries(variables.split(' ').map((variable) => variable.split('=')));
    const run = ciRun(environment as Record<string, string>);
    expect(run).toEqual({ system, who: 'ada', from, commit: 'c', ref: 'main' });
  });

  it('has what is known of an unknown system, and nothing outside of CI', () => {
    expect(ciRun({ CI: 'true' })).toEqual({
      system: 'other',
      who: 'ci',
      from: 'ci',
      commit: undefined,
      ref: undefined,
    });
  });

  it.each(['', '0', 'false', 'FALSE'])('is none if a variable is said to be off: "%s"', (off) => {
    expect(ciRun({ CI: off, GITHUB_ACTIONS: off, GIT_COMMIT: 'c' })).toBeUndefined();
  });

  it('leaves a commit named HEAD to git', () => {
    expect(ciRun({ BUILDKITE: 'true', BUILDKITE_COMMIT: 'HEAD' })?.commit).toBeUndefined();
  });
});
