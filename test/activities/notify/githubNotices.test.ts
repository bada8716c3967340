import { inspect } from 'node:util';

import { describe, expect, it, vi } from 'vitest';

import type { Notice, ReceiverSpec } from '../../../src/domain/notify/notice.ts';
import { answers, startService } from '../../clients/faultyService.ts';
import { COMMIT, notice } from '../../domain/notify/notices.ts';
import { activitiesUnderTest, failureOf } from '../activitiesUnderTest.ts';
import { GITHUB_TOKEN, startGithub } from './githubServer.ts';

vi.stubEnv('SLIPWAY_TEST_GITHUB_TOKEN', GITHUB_TOKEN);

function receiver(kind: 'github_deployment' | 'github_status', url: string): ReceiverSpec {
  const token = { from: 'env:SLIPWAY_TEST_GITHUB_TOKEN' };
  return { kind, name: 'github', apiUrl: `${url}/api/v3`, token, repository: 'owner/name' };
}

async function tell(
  to: ReceiverSpec,
  changes: Partial<Notice> = {},
  dashboard: string | null = null,
): Promise<string> {
  const activities = activitiesUnderTest({}, undefined, dashboard);
  return (await activities.sendNotice({ receiver: to, notice: notice(changes) })).detail;
}

const LATER = 'nothing to report: a later release was reported';
const STARTED = { event: 'release_started', outcome: null, reason: 'it begins' } as const;

describe('a release as a GitHub deployment', () => {
  it('is one deployment of its commit, in progress and then a success, with the CI run', async () => {
    const github = await startGithub();
    const to = receiver('github_deployment', github.url);
    const by = { who: 'ci', from: 'https://github.example/runs/7' };
    expect(await tell(to, { ...STARTED, by })).toBe('deployment 1: in_progress');
    expect(await tell(to, { by })).toBe('deployment 1: success');
    expect(github.deployments).toMatchObject([
      {
        ref: COMMIT,
        environment: 'production',
        auto_merge: false,
        required_contexts: [],
        payload: { slipway: 'target:https://control.test:agent/release-3' },
        statuses: [
          { state: 'success', environment: 'production', log_url: by.from },
          { state: 'in_progress', description: 'release-3: it begins' },
        ],
      },
    ]);
  });

  it('links to the dashboard instead of the CI run if the worker knows its address', async () => {
    const github = await startGithub();
    const by = { who: 'ci', from: 'https://github.example/runs/7' };
    await tell(receiver('github_deployment', github.url), { by }, 'https://slipway.example.com');
    expect(github.deployments[0]?.statuses).toMatchObject([
      {
        log_url: 'https://slipway.example.com/releases/target%3Ahttps%3A%2F%2Fcontrol.test%3Aagent/release-3',
      },
    ]);
  });

  it('is looked up before it is created again, so a lost answer creates no second one', async () => {
    const github = await startGithub();
    const to = receiver('github_deployment', github.url);
    github.losesAnswerOf('POST');
    const failure = await failureOf(
      activitiesUnderTest().sendNotice({ receiver: to, notice: notice(STARTED) }),
    );
    expect(failure).toMatchObject({ type: 'SLIPWAY_NO_ANSWER', nonRetryable: false });
    expect(await tell(to, STARTED)).toBe('deployment 1: in_progress');
    expect(await tell(to, STARTED)).toBe('deployment 1: is in_progress already');
    expect(github.deployments).toHaveLength(1);
    expect(github.deployments[0]?.statuses).toHaveLength(1);
  });

  it('does not start again after it has ended, if the notice of its start arrives late', async () => {
    const github = await startGithub();
    const to = receiver('github_deployment', github.url);
    await tell(to, { event: 'failed' });
    expect(await tell(to, STARTED)).toBe('deployment 1: is failure by now');
    expect(github.deployments[0]?.statuses.map(({ state }) => state)).toEqual(['failure']);
  });

  it('is separate for each release of a commit, and ignores deployments of other tools', async () => {
    const github = await startGithub();
    const to = receiver('github_deployment', github.url);
    github.deployments.push({ id: 99, ref: COMMIT, environment: 'production', payload: '', statuses: [] });
    await tell(to, STARTED);
    await tell(to, { ...STARTED, name: 'release-4' });
    expect(github.deployments).toHaveLength(3);
  });

  it('is not created after that of a later release of its target, also of another commit', async () => {
    const github = await startGithub();
    const to = receiver('github_deployment', github.url);
    await tell(to, { ...STARTED, name: 'release-10', commit: 'f'.repeat(40) });
    expect(await tell(to, STARTED)).toBe(LATER);
    expect(await tell(to, { ...STARTED, targetId: 'target:another' })).toBe('deployment 2: in_progress');
  });

  it('does not exist for a release that was withdrawn before it started', async () => {
    const github = await startGithub();
    const to = receiver('github_deployment', github.url);
    expect(await tell(to, { event: 'aborted' })).toBe('nothing to report: it has never begun');
    expect(github.deployments).toEqual([]);
  });

  it('uses the configured environment; a rollback deploys the commit that it restored', async () => {
    const github = await startGithub();
    const to = { ...receiver('github_deployment', github.url), environment: 'live' } as ReceiverSpec;
    const back = { kind: 'rollback', event: 'rolled_back', name: 'rollback-4', commit: null } as const;
    expect(await tell(to, back)).toBe('deployment 1: success');
    expect(github.deployments).toMatchObject([{ environment: 'live', ref: COMMIT }]);
  });
});

describe('a release as a status of its commit', () => {
  it('is pending, then the outcome, under the target’s name', async () => {
    const github = await startGithub();
    const to = receiver('github_status', github.url);
    await tell(to, STARTED);
    expect(await tell(to, { event: 'rolled_back' })).toBe(`commit ${COMMIT}: failure`);
    expect(github.statuses).toMatchObject([
      { state: 'failure', context: 'slipway/production' },
      { state: 'pending', context: 'slipway/production' },
    ]);
  });

  it('is sent once, and not pending after its end; the next release of the commit starts again', async () => {
    const github = await startGithub();
    const to = receiver('github_status', github.url);
    await tell(to);
    expect(await tell(to)).toBe(`commit ${COMMIT}: is success already`);
    expect(await tell(to, STARTED)).toBe(`commit ${COMMIT}: is success by now`);
    expect(await tell(to, { ...STARTED, name: 'release-4' })).toBe(`commit ${COMMIT}: pending`);
    expect(github.statuses.map(({ state }) => state)).toEqual(['pending', 'success']);
  });

  it('stays that of a later release of the commit', async () => {
    const github = await startGithub();
    const to = receiver('github_status', github.url);
    // Of another target that uses the same context.
    const other = { state: 'pending', context: 'slipway/production', description: 'release-9: it begins' };
    github.statuses.unshift({ ...other, created_at: '2020-01-01T00:00:00Z' });
    await tell(to, STARTED);
    await tell(to, { name: 'release-10' });
    expect(await tell(to, { event: 'failed' })).toBe(LATER);
    expect(github.statuses.map(({ state }) => state)).toEqual(['success', 'pending', 'pending']);
  });

  it('is found among hundreds of other tools', async () => {
    const github = await startGithub();
    const to = receiver('github_status', github.url);
    await tell(to);
    const other = { state: 'success', context: 'ci', description: 'release-3: tested', created_at: '' };
    github.statuses.unshift(...Array.from({ length: 250 }, () => other));
    expect(await tell(to, STARTED)).toBe(`commit ${COMMIT}: is success by now`);
    expect(await tell(to, { ...STARTED, name: 'release-4' })).toBe(`commit ${COMMIT}: pending`);
  });

  it('is not sent for a source that differs from its commit', async () => {
    const github = await startGithub();
    expect(await tell(receiver('github_status', github.url), { commit: `${COMMIT}-dirty` })).toContain(
      'nothing to report',
    );
    expect(github.requests).toEqual([]);
  });
});

describe('a GitHub notice that cannot be sent', () => {
  const IN_300_S = String(Math.ceil(Date.now() / 1_000) + 300);
  const about = (ms: number) => expect.closeTo(ms, -5) as number;

  it('because the token is wrong fails permanently, without showing the token', async () => {
    const github = await startGithub();
    vi.stubEnv('SLIPWAY_TEST_WRONG_TOKEN', 'ghp_another-token');
    const token = { from: 'env:SLIPWAY_TEST_WRONG_TOKEN' };
    const to = { ...receiver('github_status', github.url), token } as ReceiverSpec;
    const failure = await failureOf(activitiesUnderTest().sendNotice({ receiver: to, notice: notice() }));
    expect(failure).toMatchObject({ type: 'SLIPWAY_UNAUTHORIZED', nonRetryable: true });
    expect(inspect(failure, { depth: Infinity })).not.toContain('ghp_another-token');
  });

  it('because the repository is unknown says what to set', async () => {
    const { repository: _, ...to } = receiver('github_status', 'http://github.test') as ReceiverSpec & {
      repository?: string;
    };
    const failure = await failureOf(activitiesUnderTest().sendNotice({ receiver: to, notice: notice() }));
    expect(failure).toMatchObject({ type: 'SLIPWAY_CONFIG_INVALID', nonRetryable: true });
    expect(failure.message).toContain('repository');
  });

  it.each([
    ['a secondary rate limit', 403, { 'retry-after': '7' }, 7_000],
    ['a quota', 403, { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': IN_300_S }, about(300_000)],
    ['a quota', 429, { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '1000' }, 0],
    ['a secondary rate limit without a time', 403, {}, undefined],
  ])('because of %s (%i) is retried when GitHub says', async (message, status, headers, nextRetryDelay) => {
    const busy = await startService(answers(status, { message }, headers));
    const to = receiver('github_status', busy.url);
    const failure = await failureOf(activitiesUnderTest().sendNotice({ receiver: to, notice: notice() }));
    expect(failure).toMatchObject({ type: 'SLIPWAY_RATE_LIMITED', nonRetryable: false, nextRetryDelay });
  });

  it('because the answer is not GitHub’s is retried', async () => {
    const proxy = await startService((_, response) => response.end('<html>'));
    const to = receiver('github_deployment', proxy.url);
    const failure = await failureOf(activitiesUnderTest().sendNotice({ receiver: to, notice: notice() }));
    expect(failure).toMatchObject({ type: 'SLIPWAY_BAD_ANSWER', nonRetryable: false });
  });
});
