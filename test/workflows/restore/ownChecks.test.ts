import { expect, it } from 'vitest';

import type { Check } from '../../../src/domain/check/check.ts';
import { describeWorkflows } from '../describeWorkflows.ts';
import { heldIn } from '../moments.ts';
import { GREETS, identity, stepNames } from '../requests.ts';
import type { TargetUnderTest } from '../targetUnderTest.ts';

const NAMES_LILAC: Check = { ...GREETS, name: 'names lilac', expect: { contains: 'lilac' } };
const NAMES_ASTER: Check = { ...GREETS, name: 'names aster', expect: { contains: 'aster' } };
const NAMES_ROSE: Check = { ...GREETS, name: 'names rose', expect: { contains: 'rose' } };

describeWorkflows('a restore with the revision’s own checks', (harness) => {
  it('does not run checks that are only for the new revision', async () => {
    const [target, , newer] = await harness.newReleasedTarget('a', 'b');
    target.world.knownOnlyTo.set('lilac', new Set());
    const result = await target.release('c', { checks: [GREETS, NAMES_LILAC] });
    expect(result).toMatchObject({ outcome: 'rolled_back', servingRevisionId: newer, servingVerified: true });
    expect(target.world.redeployed).toEqual([newer]);
    expect((await target.view()).state.known).toMatchObject([{ verified: true }, { verified: true }]);
  });

  it('stops if the check fails that failed on the new revision: the provider is unavailable', async () => {
    const [target, older, newer] = await harness.newReleasedTarget('a', 'b');
    target.world.providerIsAway = true;
    const result = await target.release('c');
    expect(result).toMatchObject({
      outcome: 'errored',
      code: 'SLIPWAY_CHECK_FAILED',
      servingRevisionId: newer,
      servingVerified: false,
    });
    expect(result.reason).toContain(`revision ${newer} is restored and serves`);
    expect(result.reason).toContain('the model’s provider, the check, or what the new revision changed');
    expect(result.instructions).toContain('slipway release production');
    expect(result.instructions).not.toContain(older);
    expect(target.world.redeployed).toEqual([newer]);
    expect((await target.view()).state.known).toMatchObject([
      { revisionId: older, verified: true },
      { revisionId: newer, verified: true },
    ]);
  });

  it('that stopped there does not count towards a quarantine', async () => {
    const [target] = await harness.newReleasedTarget('a', 'b');
    target.world.providerIsAway = true;
    for (const requestKey of ['once', 'twice', 'three times']) await target.release('c', { requestKey });
    const { state } = await target.idle();
    expect(state.failedChecks).toEqual([]);
    expect(state.quarantined).toEqual([]);
    target.world.providerIsAway = false;
    expect(await target.release('c')).toMatchObject({ outcome: 'released' });
  });

  it('continues from a second revision that fails yet another check', async () => {
    const { target, ids } = await threeReleases(harness.newTarget());
    for (const word of ['lilac', 'aster', 'rose']) target.world.knownOnlyTo.set(word, new Set());
    const result = await target.release('d', { checks: [NAMES_ROSE] });
    expect(result).toMatchObject({
      outcome: 'rolled_back',
      servingRevisionId: ids[0],
      servingVerified: true,
    });
    expect(target.world.redeployed).toEqual([ids[2], ids[2], ids[1], ids[1], ids[0]]);
    expect((await target.view()).state.known).toMatchObject([
      { verified: true },
      { verified: false },
      { verified: false },
    ]);
  });

  it('stops if a third revision fails a check that it passed before, and none loses its verification', async () => {
    const { target, ids } = await threeReleases(harness.newTarget());
    target.world.providerIsAway = true;
    const result = await target.release('d', { checks: [NAMES_ROSE] });
    expect(result).toMatchObject({ outcome: 'errored', servingRevisionId: ids[0] });
    expect(target.world.redeployed).toEqual([ids[2], ids[2], ids[1], ids[1], ids[0]]);
    expect((await target.view()).state.known).toMatchObject([
      { verified: true },
      { verified: true },
      { verified: true },
    ]);
  });

  it('stops if a second revision fails the check of the first, and none loses its verification', async () => {
    const [target, older, newer] = await harness.newReleasedTarget('a', 'b');
    target.world.bad.add(identity('a')).add(identity('b'));
    target.world.knownOnlyTo.set('rose', new Set());
    const result = await target.release('d', { checks: [NAMES_ROSE] });
    expect(result).toMatchObject({ outcome: 'errored', servingRevisionId: older });
    expect(result.reason).toContain('fails a check that failed on another revision too');
    expect(target.world.redeployed).toEqual([newer, newer, older]);
    const { state } = await target.idle();
    expect(state.known).toMatchObject([{ verified: true }, { verified: true }]);
    expect(state.failedChecks).toEqual([]);
  });

  it('continues from a copy to an earlier release, and not to the original of the copy', async () => {
    const [target, older, newer] = await harness.newReleasedTarget('a', 'b');
    target.world.controlPlane.redeployMakesRevision = true;
    const back = await target.rollback({ to: newer });
    const copy = (await target.ended(back.requestId)).servingRevisionId;
    target.world.bad.add(identity('b'));
    target.world.knownOnlyTo.set('rose', new Set());
    const result = await target.release('d', { checks: [NAMES_ROSE], overrideHold: true });
    expect(target.world.redeployed.slice(1)).toEqual([copy, copy, older]);
    expect(result).toMatchObject({ outcome: 'rolled_back', servingVerified: true });
    const { known } = (await target.view()).state;
    const verified = known.filter((revision) => revision.verified).map(({ revisionId }) => revisionId);
    expect(verified).toEqual([older, result.servingRevisionId]);
  });

  it('tries at most five revisions', async () => {
    const [target, ...revisions] = await harness.newReleasedTarget('a', 'b', 'c', 'd', 'e', 'f');
    for (const revisionId of revisions) target.world.broken.set(revisionId, 'DEPLOY_FAILED');
    target.world.bad.add(identity('g'));
    expect(await target.release('g')).toMatchObject({ outcome: 'rollback_failed' });
    const tried = revisions.slice(1).reverse();
    expect(target.world.redeployed).toEqual(tried.flatMap((revisionId) => [revisionId, revisionId]));
  });

  it('continues if another check fails twice, and marks that revision as unverified', async () => {
    const [target, older, newer] = await harness.newReleasedTarget('a', 'b');
    target.world.bad.add(newer);
    target.world.knownOnlyTo.set('lilac', new Set());
    const result = await target.release('c', { checks: [NAMES_LILAC] });
    expect(target.world.redeployed).toEqual([newer, newer, older]);
    expect(result).toMatchObject({ outcome: 'rolled_back', servingRevisionId: older, servingVerified: true });
    expect((await target.view()).state.known).toMatchObject([
      { revisionId: older, verified: true },
      { revisionId: newer, verified: false },
    ]);
  });

  it('skips the checks that a person skipped in its release', async () => {
    const target = harness.newTarget();
    target.world.knownOnlyTo.set('lilac', new Set());
    const { releaseId, gate } = await heldIn('runCheck', target, 'a', { checks: [GREETS, NAMES_LILAC] });
    await target.say(releaseId, 'skip', { what: 'names lilac' });
    gate.open();
    const skipped = await target.result(releaseId);
    expect(skipped).toMatchObject({ outcome: 'released', servingVerified: false });
    await target.release('b');
    const { requestId } = await target.rollback({ to: skipped.revisionId ?? '' });
    const row = await target.ended(requestId);
    const result = await target.result(row.releaseId);
    expect(result).toMatchObject({ outcome: 'rolled_back', servingRevisionId: skipped.revisionId });
    expect(result.verdicts.map(({ check }) => check)).toEqual(['greets']);
  });

  it('keeps the checks of a revision made elsewhere, which the first release ran on it', async () => {
    const target = harness.newTarget();
    const theirs = target.world.madeElsewhere('agent');
    target.world.bad.add(identity('a'));
    expect(await target.release('a')).toMatchObject({ outcome: 'rolled_back', servingRevisionId: theirs });
    const [known] = (await target.view()).state.known;
    expect(await target.world.checksOf(known?.checks)).toEqual([GREETS]);
    target.world.knownOnlyTo.set('lilac', new Set());
    const result = await target.release('b', { checks: [NAMES_LILAC] });
    expect(result).toMatchObject({
      outcome: 'rolled_back',
      servingRevisionId: theirs,
      servingVerified: true,
    });
    expect(result.verdicts.at(-1)).toMatchObject({ check: 'greets', revisionId: theirs, passed: true });
  });

  it('keeps the checks of a copy that a redeploy made', async () => {
    const [target] = await harness.newReleasedTarget('a', 'b');
    target.world.controlPlane.redeployMakesRevision = true;
    target.world.bad.add(identity('c'));
    const { servingRevisionId: copy } = await target.release('c');
    const { known } = (await target.view()).state;
    expect(known.at(-1)).toMatchObject({ revisionId: copy, verified: true });
    expect(await target.world.checksOf(known.at(-1)?.checks)).toEqual([GREETS]);
  });

  it('whose checks cannot be read is deployed, stays verified, and reports it; it does not continue', async () => {
    const [target, , newer] = await harness.newReleasedTarget('a', 'b');
    target.world.kept.clear();
    target.world.bad.add(identity('c'));
    const result = await target.release('c');
    expect(result).toMatchObject({ outcome: 'rolled_back', servingRevisionId: newer, servingVerified: true });
    expect(result.reason).toContain('its checks did not run, because they could not be read');
    expect(stepNames(result)).not.toContain('restore check done');
    expect(target.world.redeployed).toEqual([newer]);
  });

  it('of a revision that dies while it starts is tried once more', async () => {
    const [target, only] = await harness.newReleasedTarget('a');
    target.world.bad.add(identity('b'));
    target.world.next(
      'awaitDeployed',
      (perform) => perform(),
      (perform, world) => {
        world.end(only, 'DEPLOY_FAILED');
        return perform();
      },
    );
    const result = await target.release('b');
    expect(target.world.redeployed).toEqual([only, only]);
    expect(result).toMatchObject({ outcome: 'rolled_back', servingRevisionId: only, servingVerified: true });
  });

  it('of a revision that dies each time ends after two tries', async () => {
    const [target, only] = await harness.newReleasedTarget('a');
    target.world.bad.add(identity('b'));
    target.world.broken.set(only, 'DEPLOY_FAILED');
    expect(await target.release('b')).toMatchObject({ outcome: 'rollback_failed' });
    expect(target.world.redeployed).toEqual([only, only]);
  });

  it('by a person, of one that serves and fails its checks, stays there, and needs a person', async () => {
    const [target, older, newer] = await harness.newReleasedTarget('a', 'b');
    target.world.providerIsAway = true;
    const { requestId } = await target.rollback({ to: older });
    const row = await target.ended(requestId);
    expect(row).toMatchObject({ outcome: 'errored', code: 'SLIPWAY_CHECK_FAILED', servingRevisionId: older });
    expect(row.reason).toContain(`revision ${older} is restored and serves, but failed its checks`);
    expect(target.world.redeployed).toEqual([older]);
    const { state } = await target.idle();
    expect(state.known).toMatchObject([
      { revisionId: older, verified: true },
      { revisionId: newer, verified: true, quarantined: true },
    ]);
  });

  it('by a person while a release runs, of one that fails its checks, stays there too', async () => {
    const [target, older, newer] = await harness.newReleasedTarget('a', 'b');
    target.world.slow.add(identity('c'));
    target.world.bad.add(older);
    const { releaseId } = await target.submit('c');
    await target.world.called('awaitDeployed');
    await target.rollback({ to: older });
    expect(await target.result(releaseId)).toMatchObject({ outcome: 'errored', servingRevisionId: older });
    expect(target.world.redeployed).not.toContain(newer);
  });
});

/** A target that has released three artifacts, each under a check of its own. The revisions, oldest first. */
async function threeReleases(target: TargetUnderTest): Promise<{ target: TargetUnderTest; ids: string[] }> {
  const first = await target.release('a', { checks: [GREETS] });
  const second = await target.release('b', { checks: [NAMES_LILAC] });
  const third = await target.release('c', { checks: [NAMES_ASTER] });
  return { target, ids: [first, second, third].map(({ revisionId }) => revisionId ?? '') };
}
