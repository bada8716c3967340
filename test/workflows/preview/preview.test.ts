import { describe, expect, test, vi } from 'vitest';

import type { PreviewJudge } from '../../../src/domain/preview/preview.ts';
import type { TargetSpec } from '../../../src/domain/target/targetSpec.ts';
import { holdSignal } from '../../../src/messages/target.ts';
import { landsLate, refused, unansweredAndLost, unansweredButTaken } from '../faults.ts';
import { identity, QUICK } from '../requests.ts';
import { judgedBy } from '../promotion/promotionsUnderTest.ts';
import type { World } from '../world.ts';
import { failure } from '../failures.ts';
import { describePreviews } from './describePreviews.ts';
import { LONG_MS, type PreviewUnderTest } from './previewUnderTest.ts';

function comparedWith(baseline: TargetSpec): PreviewJudge {
  const { settings, inputs } = judgedBy('ask');
  return { settings, inputs, baseline };
}

describePreviews('a preview', ({ harness, newPreview }) => {
  function commentOf({ target }: PreviewUnderTest): string {
    const { comments } = target.world;
    expect(comments.size).toBe(1);
    return [...comments.values()][0] ?? '';
  }

  test('releases a push, reports it in one comment, and shows its address', async () => {
    const { preview, world } = newPreview();
    const { releaseId, disposition } = await preview.push('a');
    expect({ releaseId, disposition }).toEqual({ releaseId: 'release-1', disposition: 'queued' });
    await preview.stateOnce(({ last }) => last !== null);
    await world.until(() => [...world.comments.values()].some((text) => text.includes('released')));
    const comment = commentOf(preview);
    expect(comment).toContain(`address: http://agent.${world.id}.test`);
    expect(comment).toContain('| greets | ✅ passed |');
    expect(await preview.summary()).toMatchObject({
      pr: 7,
      phase: 'idle',
      outcome: 'released',
      problem: null,
    });
  });

  test('removes its deployment, its lock and its target at the deadline, without a CI job', async () => {
    const { preview } = newPreview();
    const { target } = preview;
    await preview.release('a');
    await preview.push('a', { ttlMs: 500 });
    const { removed, reason } = await preview.result();
    expect({ removed, reason }).toEqual({
      removed: 'deleted',
      reason: expect.stringContaining('its deadline passed'),
    });
    expect(target.world.controlPlane.deployments).toEqual([]);
    expect((await target.handle.describe()).status.name).toBe('TERMINATED');
    const lock = target.workflow(`deployment:${target.world.id}-deployment`);
    expect((await lock.describe()).status.name).toBe('TERMINATED');
    expect(commentOf(preview)).toContain('**Removed.**');
  });

  test('is renewed by each push', async () => {
    const { preview } = newPreview();
    await preview.release('a');
    const first = await preview.summary();
    const second = await preview.push('b', { ttlMs: 2 * LONG_MS });
    expect(Date.parse(second.expiresAt)).toBeGreaterThan(Date.parse(first.expiresAt) + LONG_MS / 2);
    await preview.stateOnce(({ last }) => last?.releaseId === 'release-2');
    expect((await preview.summary()).expiresAt).toBe(second.expiresAt);
  });

  test('says what a person can end so that a rejected push is accepted', async () => {
    const { preview } = newPreview();
    await preview.release('a');
    await preview.target.handle.signal(holdSignal, { who: 'ada' });
    expect(await preview.push('b')).toMatchObject({ disposition: 'rejected', rejectedFor: 'hold' });
  });

  test('ends the release of an older push', async () => {
    const { preview, world } = newPreview();
    world.slow.add(identity('a'));
    await preview.push('a');
    await world.called('awaitDeployed');
    await preview.push('b');
    const { last } = await preview.stateOnce((state) => state.last !== null);
    expect(last).toMatchObject({ releaseId: 'release-2', outcome: 'released', commit: 'commit-b' });
    const first = await preview.target.ended('release-1');
    expect(first).toMatchObject({
      outcome: 'aborted',
      reason: expect.stringContaining('superseded by a newer push'),
    });
  });

  test('needs no person if its first release, whose revision serves, is stopped', async () => {
    const target = harness.newTarget();
    const { target: spec } = target.request('a');
    target.world.gate('runCheck');
    const { releaseId } = await target.submit('a', { target: { ...spec, preview: true } });
    await target.world.called('runCheck');
    await target.say(releaseId, 'abort', { who: 'slipway', reason: 'superseded by a newer push' });
    const stopped = await target.ended(releaseId);
    expect(stopped).toMatchObject({ outcome: 'aborted', servingRevisionId: stopped.revisionId });
    expect(stopped.reason).toContain('serves');
  });

  test('joins the release of the same push: a repeated job ends nothing', async () => {
    const { preview, world } = newPreview();
    const gate = world.gate('patchDeployment');
    await preview.push('a');
    await world.called('patchDeployment');
    expect(await preview.push('a')).toMatchObject({
      releaseId: 'release-1',
      disposition: 'joined',
    });
    gate.open();
    const { last } = await preview.stateOnce((state) => state.last !== null);
    expect(last).toMatchObject({ releaseId: 'release-1', outcome: 'released' });
  });

  test('is removed on request while its release runs', async () => {
    const { preview, world } = newPreview();
    world.slow.add(identity('a'));
    await preview.push('a');
    await world.called('awaitDeployed');
    await preview.remove('merged');
    const { removed, reason } = await preview.result();
    expect({ removed, reason }).toEqual({
      removed: 'deleted',
      reason: expect.stringContaining('ada removed it: merged'),
    });
    expect(world.controlPlane.deployments).toEqual([]);
    expect(await preview.target.ended('release-1')).toMatchObject({ outcome: 'aborted' });
  });

  test('retries its removal until it succeeds, and shows why it failed', async () => {
    const { preview, world } = newPreview();
    await preview.release('a');
    const down = () => Promise.reject(failure('SLIPWAY_SERVICE_ERROR', { taken: true, status: 503 }));
    world.next('deleteDeployment', down, down);
    await preview.remove('merged');
    const { removal } = await preview.stateOnce((state) => (state.removal?.attempts ?? 0) > 0);
    expect(removal).toMatchObject({ problem: expect.any(String) });
    expect(await preview.summary()).toMatchObject({ phase: 'removal_failed' });
    expect(await preview.result()).toMatchObject({ removed: 'deleted' });
    expect(world.count('deleteDeployment')).toBe(3);
  });

  test('was deleted, even if the answer to the deletion was lost', async () => {
    const { preview } = newPreview();
    await preview.release('a');
    preview.target.world.next('deleteDeployment', unansweredButTaken);
    await preview.remove('merged');
    expect(await preview.result()).toMatchObject({ removed: 'deleted' });
  });

  describe('whose request to create the deployment was not answered', () => {
    const sentOnce = { ...QUICK, create: { retry: { maximumAttempts: 1 } } };

    test('looks for the deployment during its removal, and removes it', async () => {
      const { preview, world } = newPreview();
      const isSought = async (): Promise<void> => {
        const { removal } = await preview.stateOnce((state) => (state.removal?.attempts ?? 0) > 0);
        expect(removal?.problem).toContain('was not answered; looking for it until');
      };
      world.next('createDeployment', landsLate(isSought));
      await preview.push('a', { steps: sentOnce });
      await preview.stateOnce(({ last }) => last?.outcome === 'failed');
      await preview.remove('merged');
      expect(await preview.result()).toMatchObject({ removed: 'deleted' });
      expect(world.controlPlane.deployments).toEqual([]);
    });

    test('ends the search at the deadline of the step "watch"', async () => {
      const { preview } = newPreview();
      preview.target.world.next('createDeployment', unansweredAndLost);
      const steps = { ...sentOnce, watch: { scheduleToCloseMs: 1_000 } };
      await preview.push('a', { steps });
      await preview.stateOnce(({ last }) => last?.outcome === 'failed');
      await preview.remove('merged');
      expect(await preview.result()).toMatchObject({ removed: 'never_made' });
    });
  });

  test('is recreated by a push while its removal runs', async () => {
    const { preview, world } = newPreview();
    await preview.release('a');
    const gate = world.gate('deleteDeployment');
    await preview.remove('closed');
    await world.called('deleteDeployment');
    const pushed = preview.push('b');
    gate.open();
    const { disposition } = await pushed;
    expect(disposition).toBe('queued');
    const { last } = await preview.stateOnce((state) => state.last?.commit === 'commit-b');
    expect(last?.outcome).toBe('released');
    expect(world.controlPlane.deployments).toHaveLength(1);
    // What it knew of the deployment that was deleted is forgotten.
    const { state } = await preview.target.view();
    expect(state.known).toHaveLength(1);
  });

  test('is recreated by a push, even if it cannot be read after its deletion', async () => {
    const { preview, world } = newPreview();
    await preview.release('a');
    world.next('findDeployment', (perform) => perform(), refused('SLIPWAY_UNAUTHORIZED', 401));
    await preview.remove('closed');
    await world.called('deleteDeployment');
    expect(await preview.push('b')).toMatchObject({ disposition: 'queued' });
    const { last } = await preview.stateOnce((state) => state.last?.commit === 'commit-b');
    expect(last?.outcome).toBe('released');
    // The target and its lock were ended with the deployment that was deleted.
    const { state } = await preview.target.view();
    expect(state.known).toHaveLength(1);
  });

  test('is kept by a push if the control plane refuses its deletion', async () => {
    const { preview, world } = newPreview();
    await preview.release('a');
    // Of each attempt that begins before the push arrives.
    world.next(
      'deleteDeployment',
      ...Array.from({ length: 1_000 }, () => refused('SLIPWAY_UNAUTHORIZED', 403)),
    );
    await preview.remove('closed');
    await preview.stateOnce(({ removal }) => (removal?.attempts ?? 0) > 0);
    await preview.push('b');
    const { last, removal } = await preview.stateOnce((state) => state.last?.commit === 'commit-b');
    expect({ outcome: last?.outcome, removal }).toEqual({ outcome: 'released', removal: null });
    expect((await preview.target.view()).state.known).toHaveLength(2);
  });

  test('parks what the control plane cannot delete, and reports it', async () => {
    const { preview, world } = newPreview();
    world.controlPlane.offersDelete = false;
    const image = { artifact: { kind: 'image', uri: 'registry.test/agent:1' } } as const;
    const { target } = preview.target.request('a');
    await preview.release('a', {
      ...image,
      graphConfigPath: null,
      target: { ...target, source: 'external_image' },
    });
    await preview.remove('closed');
    const { removed, reason } = await preview.result();
    expect(removed).toBe('parked');
    expect(reason).toContain('offers no deletion');
    expect(world.count('parkDeployment')).toBe(1);
    expect(world.controlPlane.deployments).toHaveLength(1);
  });

  test('continues without a comment, and shows why there is none', async () => {
    const { preview, world } = newPreview();
    const missing = () => Promise.reject(failure('SLIPWAY_SECRET_MISSING', { taken: false, final: true }));
    world.next('writeComment', missing, missing);
    await preview.push('a');
    await world.called('writeComment', 2);
    const { last } = await preview.stateOnce((state) => state.last !== null && state.commentProblem !== null);
    expect(last?.outcome).toBe('released');
    expect((await preview.summary()).problem).toContain('no comment was written');
  });

  describe('with a judge', () => {
    /** A preview that is compared with a target on which `a` serves. */
    async function comparedPreview(): Promise<PreviewUnderTest> {
      const staging = harness.newTarget();
      expect((await staging.release('a')).outcome).toBe('released');
      const { preview } = newPreview();
      preview.judge = comparedWith(staging.request('a').target);
      return preview;
    }
    const comparison = 'against what serves on';
    const comparing = (world: World): Promise<unknown> =>
      vi.waitFor(() => expect(harness.judge.askedFor(world)).toHaveLength(1), { timeout: 60_000 });

    test('compares each release with what serves on the target that it copies, and says so', async () => {
      const preview = await comparedPreview();
      const { world } = preview.target;
      harness.judge.says(world, 'failed');
      await preview.push('b');
      await world.until(() => [...world.comments.values()].some((text) => text.includes(comparison)));
      expect(commentOf(preview)).toContain('**failed**');
      const [{ sides } = { sides: undefined }] = harness.judge.askedFor(world);
      expect(sides).toMatchObject({
        baseline: { target: preview.judge?.baseline },
        candidate: { revisionId: world.active, agentUrl: `http://agent.${world.id}.test` },
      });
    });

    test('ends the comparison of an older push', async () => {
      const preview = await comparedPreview();
      const { world } = preview.target;
      harness.judge.says(world, 'never');
      await preview.push('b');
      await comparing(world);
      await preview.push('c');
      const { last } = await preview.stateOnce((state) => state.last?.judgement !== undefined);
      expect(last).toMatchObject({ releaseId: 'release-2', judgement: { verdict: 'passed' } });
    });

    test('is removed in the middle of a comparison', async () => {
      const preview = await comparedPreview();
      const { world } = preview.target;
      harness.judge.says(world, 'never');
      await preview.push('b');
      await comparing(world);
      await preview.remove('closed');
      expect(await preview.result()).toMatchObject({ removed: 'deleted' });
    });

    test('says that nothing serves to compare with', async () => {
      const { preview } = newPreview();
      preview.judge = comparedWith(harness.newTarget().request('a').target);
      await preview.push('b');
      const { last } = await preview.stateOnce((state) => state.last?.judgement !== undefined);
      expect(last?.judgement).toMatchObject({
        verdict: null,
        reasons: [expect.stringContaining('serves')],
      });
    });
  });

  test('keeps its deadline over the loss of its worker, and over Continue-As-New', async () => {
    const { preview } = newPreview(10);
    const { expiresAt } = await preview.push('a');
    await preview.loseWorker();
    await preview.stateOnce(({ last }) => last !== null);
    await preview.carriedOn();
    await preview.loseWorker();
    expect((await preview.summary()).expiresAt).toBe(expiresAt);
    await preview.push('a', { ttlMs: 500 });
    expect(await preview.result()).toMatchObject({ removed: 'deleted' });
  });

  test('is removed if its workflow is canceled by hand', async () => {
    const { preview } = newPreview();
    await preview.push('a');
    await preview.handle.cancel();
    expect((await preview.result()).reason).toContain('its workflow was canceled');
    expect(preview.target.world.controlPlane.deployments).toEqual([]);
  });

  test('can be removed without a workflow and without a push before', async () => {
    const { preview } = newPreview();
    preview.target.world.madeElsewhere('agent');
    await preview.remove('found by an audit');
    expect(await preview.result()).toMatchObject({ removed: 'deleted' });
    expect(preview.target.world.controlPlane.deployments).toEqual([]);
  });

  test('rejects a push to another deployment than its own', async () => {
    const { preview } = newPreview();
    await preview.push('a');
    const { target } = preview.target.request('a');
    const other = { target: { ...target, deployment: 'other' } };
    const { handle } = preview;
    const request = preview.target.request('b', other);
    const terms = { name: 'pull-request', pr: 7, ttlMs: LONG_MS };
    await expect(handle.executeUpdate('pushPreview', { args: [{ terms, request }] })).rejects.toThrow();
    await expect(handle.executeUpdate('pushPreview', { args: ['garbage'] })).rejects.toThrow();
  });
});
