import { describe, expect, it } from 'vitest';

import {
  newPreview,
  overduePreviews,
  previewPhase,
  type PreviewSpec,
  removalPauseMs,
  renewed,
  summarize,
} from '../../../src/domain/preview/preview.ts';
import {
  deploymentOf,
  deploymentPatternProblem,
  previewWorkflowId,
  pullRequestOf,
} from '../../../src/domain/preview/previewName.ts';
import { releaseRequest } from '../../workflows/requests.ts';

describe('the pattern of deployments', () => {
  it.each([['greeter-pr-{pr}'], ['{pr}.preview'], ['a{pr}b']])('%s is valid', (pattern) => {
    expect(deploymentPatternProblem(pattern)).toBeUndefined();
    expect(pullRequestOf(pattern, deploymentOf(pattern, 123))).toBe(123);
  });

  it.each([['greeter'], ['{pr}-{pr}'], ['greeter/{pr}'], ['-{pr}'], ['greeter pr {pr}']])(
    '%s is invalid',
    (pattern) => {
      expect(deploymentPatternProblem(pattern)).toMatch(/^expected/);
    },
  );

  it.each([
    ['greeter-pr-'],
    ['greeter-pr-x'],
    ['greeter-pr-01'],
    ['greeter-pr-0'],
    ['greeter-pr-1-old'],
    ['other-1'],
  ])('the deployment %s matches no pull request', (deployment) => {
    expect(pullRequestOf('greeter-pr-{pr}', deployment)).toBeUndefined();
  });
});

describe('a preview', () => {
  const state = newPreview(Date.UTC(2026, 0, 1), 60_000);

  it('expires its ttl after the last push, and keeps its creation time', () => {
    expect(state.expiresAt).toBe('2026-01-01T00:01:00.000Z');
    expect(renewed(state, Date.UTC(2026, 0, 2), 60_000)).toMatchObject({
      createdAt: '2026-01-01T00:00:00.000Z',
      renewedAt: '2026-01-02T00:00:00.000Z',
      expiresAt: '2026-01-02T00:01:00.000Z',
    });
  });

  it('is overdue if it is still held when its removal should long have ended', () => {
    const { target } = releaseRequest('world', 'a');
    const terms = { name: 'pull-request', pr: 7, ttlMs: 60_000, max: 5 };
    const spec = { ...terms, target, recordStore: '' } as unknown as PreviewSpec;
    const summary = summarize(spec, state);
    const expires = Date.parse(state.expiresAt);
    expect(overduePreviews([summary], expires + 3_600_000)).toEqual([]);
    expect(overduePreviews([summary], expires + 2 * 3_600_000)).toMatchObject([
      { name: 'pull-request', pr: 7, expiresAt: state.expiresAt, phase: 'idle', problem: null },
    ]);
  });

  it('shows a failed removal before a release', () => {
    const release = { releaseId: 'release-1', commit: null, submissions: [] };
    const removal = { because: 'closed', attempts: 0, problem: null };
    expect(previewPhase(state)).toBe('idle');
    expect(previewPhase({ ...state, release })).toBe('releasing');
    expect(previewPhase({ ...state, release, removal })).toBe('removing');
    expect(previewPhase({ ...state, removal: { ...removal, problem: 'away' } })).toBe('removal_failed');
  });

  it('waits longer after each failed removal, up to 10 minutes', () => {
    expect([1, 2, 3, 10, 11, 1_000].map(removalPauseMs)).toEqual([
      1_000, 2_000, 4_000, 512_000, 600_000, 600_000,
    ]);
  });

  it('has one workflow for each deployment, like its target', () => {
    const { target } = releaseRequest('world', 'a');
    expect(previewWorkflowId(target)).toBe('preview:http://world.test:agent');
  });
});
