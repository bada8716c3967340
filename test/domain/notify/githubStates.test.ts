import { describe, expect, it } from 'vitest';

import { commitStateOf, deploymentStateOf, GITHUB_EVENTS } from '../../../src/domain/notify/githubStates.ts';
import { NOTICE_EVENTS } from '../../../src/domain/notify/notice.ts';
import { COMMIT, notice } from './notices.ts';

const OF_RELEASES = {
  release_started: 'in_progress',
  released: 'success',
  rolled_back: 'failure',
  failed: 'failure',
  rollback_failed: 'failure',
  errored: 'error',
  aborted: 'error',
} as const;

describe('the GitHub state of a release', () => {
  it.each(NOTICE_EVENTS)('%s', (event) => {
    const state = Object.entries(OF_RELEASES).find(([name]) => name === event)?.[1];
    const deployment = deploymentStateOf(notice({ event }));
    const commit = commitStateOf(notice({ event }));
    if (state === undefined) {
      expect(GITHUB_EVENTS).not.toContain(event);
      expect([deployment, commit]).toEqual([expect.any(String), expect.any(String)]);
      return;
    }
    expect(GITHUB_EVENTS).toContain(event);
    const begins = event !== 'aborted';
    expect(deployment).toEqual({ commit: COMMIT, state, begins });
    expect(commit).toEqual({ commit: COMMIT, state: state === 'in_progress' ? 'pending' : state, begins });
  });

  it('is absent if its commit is unknown, or differs from the source', () => {
    expect(deploymentStateOf(notice({ commit: null }))).toContain('no commit');
    expect(commitStateOf(notice({ commit: `${COMMIT}-dirty` }))).toContain('differs');
  });
});

describe('the GitHub state of a requested rollback', () => {
  const rolledBack = notice({ kind: 'rollback', event: 'rolled_back', commit: null });

  it('is a deployment of the restored commit, and no status of any commit', () => {
    expect(deploymentStateOf(rolledBack)).toEqual({ commit: COMMIT, state: 'success', begins: true });
    expect(commitStateOf(rolledBack)).toContain('releases');
  });

  it('is absent if that commit is unknown', () => {
    expect(deploymentStateOf({ ...rolledBack, servingCommit: null })).toContain('no commit');
  });
});

it('promotions and holds are not sent to GitHub, because their releases are', () => {
  expect(deploymentStateOf(notice({ kind: 'promotion', event: 'promoted' }))).toEqual(expect.any(String));
  expect(commitStateOf(notice({ kind: 'hold', event: 'hold_set' }))).toEqual(expect.any(String));
});
