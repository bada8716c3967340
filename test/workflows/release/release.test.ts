import { expect, it } from 'vitest';

import { SEARCH_ATTRIBUTES } from '../../../src/domain/searchAttributes.ts';
import { describeWorkflows } from '../describeWorkflows.ts';
import { notTaken, refused } from '../faults.ts';
import { heldIn, polling } from '../moments.ts';
import { GREETS, identity, QUICK, stepNames, tarball } from '../requests.ts';
import type { Fault } from '../world.ts';

const IMAGE = { kind: 'image', uri: 'registry.test/agent:1' } as const;

describeWorkflows('a release', (harness) => {
  it('runs its steps in order, with one PATCH, and ends released with a verified revision', async () => {
    const target = harness.newTarget();
    const result = await target.release('a', { commit: 'c0ffee' });
    const [revisionId] = target.world.revisionsOf(tarball('a'));
    expect(stepNames(result)).toEqual([
      'find done',
      'create done',
      'upload done',
      'patch done',
      'deployed done',
      'serving done',
      'check done',
      'record done',
    ]);
    expect(result).toMatchObject({
      outcome: 'released',
      code: null,
      commit: 'c0ffee',
      revisionId,
      servingRevisionId: revisionId,
      servingVerified: true,
      baseline: { revisionId: null, verified: false },
      instructions: null,
      extraRevisionIds: [],
      givenUpRevisionIds: [],
      knownRevisions: [{ revisionId, verified: true, artifact: identity('a') }],
    });
    expect(target.world.count('patchDeployment')).toBe(1);
    expect(target.world.active).toBe(revisionId);
    const { state } = await target.view();
    expect(state).toMatchObject({ activeRevisionId: revisionId, known: [{ revisionId, verified: true }] });
  });

  it('has search attributes, current details and a record', async () => {
    const target = harness.newTarget();
    const result = await target.release('a', { commit: 'c0ffee' });
    const handle = target.child(result.releaseId);
    const described = await handle.describe();
    const attributes = Object.fromEntries(
      described.typedSearchAttributes.getAll().map(({ key, value }) => [key.name, value]),
    );
    expect(attributes).toMatchObject({
      [SEARCH_ATTRIBUTES.target]: 'production',
      [SEARCH_ATTRIBUTES.outcome]: 'released',
      [SEARCH_ATTRIBUTES.artifact]: 'sha256:610000000000',
      [SEARCH_ATTRIBUTES.revision]: result.revisionId,
      [SEARCH_ATTRIBUTES.commit]: 'c0ffee',
    });
    const told = await handle.query<{ currentDetails: string }>('__temporal_workflow_metadata');
    expect(told.currentDetails).toContain('**release-1**: released');
    expect(told.currentDetails).toContain('| patch | done |');
    expect(target.world.records).toMatchObject([{ releaseId: 'release-1', outcome: 'released' }]);
  });

  it('restores the baseline if the build fails', async () => {
    const { target, good } = harness.newServingTarget();
    target.world.broken.set(identity('b'), 'BUILD_FAILED');
    const result = await target.release('b');
    expect(result).toMatchObject({
      outcome: 'rolled_back',
      code: 'SLIPWAY_REVISION_FAILED',
      baseline: { revisionId: good, verified: true },
      servingRevisionId: good,
      servingVerified: true,
      givenUpRevisionIds: [],
    });
    expect(result.reason).toContain('BUILD_FAILED: the build fails');
    expect(result.reason).toContain(`revision ${good} serves again`);
    expect(target.world.redeployed).toEqual([good]);
    expect(target.world.active).toBe(good);
  });

  it('restores the baseline after a failed check, and runs the checks on it', async () => {
    const { target, good } = harness.newServingTarget();
    target.world.bad.add(identity('b'));
    const result = await target.release('b');
    expect(result).toMatchObject({
      outcome: 'rolled_back',
      code: 'SLIPWAY_CHECK_FAILED',
      servingRevisionId: good,
      givenUpRevisionIds: [],
    });
    expect(stepNames(result).slice(-7)).toEqual([
      'serving done',
      'check failed',
      'restore redeploy done',
      'restore deployed done',
      'restore serving done',
      'restore check done',
      'record done',
    ]);
    expect(result.verdicts.map(({ revisionId, passed }) => ({ revisionId, passed }))).toEqual([
      { revisionId: result.revisionId, passed: false },
      { revisionId: good, passed: true },
    ]);
    expect(target.world.active).toBe(good);
  });

  it('ends failed without a change if it fails before the PATCH', async () => {
    const { target, good } = harness.newServingTarget();
    target.world.next('uploadArtifact', refused());
    const result = await target.release('b');
    expect(result).toMatchObject({
      outcome: 'failed',
      code: 'SLIPWAY_REFUSED',
      revisionId: null,
      servingRevisionId: good,
      servingVerified: true,
    });
    expect(result.reason).toContain('this release changed nothing that served');
    expect(target.world.redeployed).toEqual([]);
    expect(target.world.count('patchDeployment')).toBe(0);
  });

  it('ends failed without a change if the PATCH is certainly rejected', async () => {
    const { target, good } = harness.newServingTarget();
    target.world.next('patchDeployment', refused());
    const result = await target.release('b');
    expect(result).toMatchObject({ outcome: 'failed', code: 'SLIPWAY_REFUSED', servingRevisionId: good });
    expect(target.world.redeployed).toEqual([]);
  });

  it('checks the active revision of a deployment made elsewhere once, before anything is changed', async () => {
    const target = harness.newTarget();
    const theirs = target.world.madeElsewhere('agent');
    const result = await target.release('a');
    expect(stepNames(result).slice(0, 3)).toEqual(['find done', 'baseline done', 'upload done']);
    expect(result.baseline).toEqual({ revisionId: theirs, verified: true });
    const second = await target.release('b');
    expect(stepNames(second)).not.toContain('baseline done');
    const { state } = await target.view();
    expect(state.known.map(({ revisionId, verified }) => [revisionId, verified])).toEqual([
      [theirs, true],
      [result.revisionId, true],
      [second.revisionId, true],
    ]);
  });

  it('restores a revision made elsewhere as it was, unverified, if it fails the checks too', async () => {
    const target = harness.newTarget();
    const theirs = target.world.madeElsewhere('agent');
    target.world.bad.add(theirs).add(identity('a'));
    const result = await target.release('a');
    expect(result).toMatchObject({
      outcome: 'rolled_back',
      baseline: { revisionId: theirs, verified: false },
      servingRevisionId: theirs,
      servingVerified: false,
    });
    expect(result.reason).toContain('serves again, unverified');
    expect(target.world.redeployed).toEqual([theirs]);
  });

  it('ends failed if a first release fails and none of ours serves', async () => {
    const target = harness.newTarget();
    target.world.broken.set(identity('a'), 'BUILD_FAILED');
    const result = await target.release('a');
    expect(result).toMatchObject({
      outcome: 'failed',
      code: 'SLIPWAY_REVISION_FAILED',
      servingRevisionId: null,
      instructions: null,
    });
    expect(result.reason).toContain('nothing served before');
    expect(target.world.redeployed).toEqual([]);
  });

  it('restores the baseline if a check fails only after the soak', async () => {
    const { target, good } = harness.newServingTarget();
    target.world.next('runCheck', async (perform, world) => {
      const verdict = await perform();
      world.bad.add(identity('b'));
      return verdict;
    });
    const result = await target.release('b', { soakMs: 20 });
    expect(stepNames(result)).toContain('soak failed');
    expect(result).toMatchObject({ outcome: 'rolled_back', servingRevisionId: good });
    expect(target.world.count('runCheck')).toBe(3);
  });

  it.each([
    ['restores the baseline if the agent', 7, 'rolled_back'],
    ['blames no revision if the agent, and also that of the baseline,', 20, 'errored'],
  ])('%s does not answer in the soak', async (_, silent, outcome) => {
    const { target, good } = harness.newServingTarget();
    const asked: Fault = (perform) => perform();
    target.world.next('runCheck', asked, ...Array<Fault>(silent).fill(notTaken()));
    const result = await target.release('b', { soakMs: 3_600_000 });
    expect(result).toMatchObject({ outcome, code: 'SLIPWAY_UNREACHABLE', servingRevisionId: good });
    expect(result.steps.find(({ step }) => step === 'soak')).toMatchObject({ status: 'failed', attempts: 7 });
  });

  it('keeps its outcome if its record cannot be written, and reports it', async () => {
    const target = harness.newTarget();
    target.world.next('recordRelease', refused('SLIPWAY_INTERNAL'));
    const result = await target.release('a');
    expect(result.outcome).toBe('released');
    expect(result.reason).toContain('its record could not be written');
    expect(result.servingRevisionId).toBe(target.world.active);
  });

  it('without checks does not say that any passed', async () => {
    const target = harness.newTarget();
    const { outcome, reason } = await target.release('a', { checks: [] });
    expect(outcome).toBe('released');
    expect(reason).toMatch(/ is deployed, serves, and has no checks$/);
  });

  it('ships an image without an upload', async () => {
    const target = harness.newTarget();
    const result = await target.release('a', { artifact: IMAGE, graphConfigPath: null });
    expect(result).toMatchObject({ outcome: 'released', artifact: IMAGE.uri });
    expect(target.world.count('uploadArtifact')).toBe(0);
  });

  it('accepts names and overrides that Temporal would reject', async () => {
    const target = harness.newTarget();
    const long = 'ü'.repeat(1_000);
    const artifact = { kind: 'image', uri: `registry.test/${long.slice(20)}` } as const;
    const result = await target.release('a', {
      artifact,
      commit: long,
      checks: [{ ...GREETS, name: long }],
      // The longest interval of this step's own policy is shorter.
      steps: { ...QUICK, find: { retry: { initialIntervalMs: 60_000 } } },
    });
    expect(result.outcome).toBe('released');
  });

  it('canceled before a change ends aborted without a change', async () => {
    const { target, good } = harness.newServingTarget();
    const { releaseId, gate } = await heldIn('uploadArtifact', target);
    await target.child(releaseId).cancel();
    const result = await target.result(releaseId);
    gate.open();
    expect(result).toMatchObject({ outcome: 'aborted', code: null, servingRevisionId: good });
    expect(target.world.redeployed).toEqual([]);
    expect(target.world.count('patchDeployment')).toBe(0);
  });

  it.each(['canceled', 'failed'])(
    'that is %s while its baseline is checked says what serves',
    async (how) => {
      const target = harness.newTarget();
      const theirs = target.world.madeElsewhere('agent');
      if (how === 'failed') target.world.next('uploadArtifact', refused());
      const { releaseId, gate } = await heldIn('runCheck', target);
      if (how === 'canceled') await target.child(releaseId).cancel();
      const result = await target.result(releaseId);
      gate.open();
      expect(result).toMatchObject({ servingRevisionId: theirs, servingVerified: false, baseline: null });
    },
  );

  it('canceled while polling, ends aborted with the baseline restored', async () => {
    const { target, good } = harness.newServingTarget();
    const releaseId = await polling(target);
    await target.child(releaseId).cancel();
    const result = await target.result(releaseId);
    expect(result).toMatchObject({ outcome: 'aborted', servingRevisionId: good });
    expect(target.world.active).toBe(good);
  });

  it('canceled while the PATCH keeps failing, ends aborted and sends no more', async () => {
    const { target, good } = harness.newServingTarget();
    const gate = target.world.gate('patchDeployment', notTaken());
    const { releaseId } = await target.submit('b');
    await target.world.called('patchDeployment');
    await target.child(releaseId).cancel();
    await target.child(releaseId).describe();
    gate.open();
    const result = await target.result(releaseId);
    expect(result).toMatchObject({ outcome: 'aborted', servingRevisionId: good });
    expect(target.world.count('patchDeployment')).toBe(1);
    expect(target.world.redeployed).toEqual([]);
  });

  it('canceled again while it restores, restores to the end', async () => {
    const { target, good } = harness.newServingTarget();
    target.world.bad.add(identity('b'));
    const { releaseId, gate } = await heldIn('redeployRevision', target);
    await target.child(releaseId).cancel();
    gate.open();
    const result = await target.result(releaseId);
    expect(result).toMatchObject({ outcome: 'rolled_back', servingRevisionId: good });
  });
});
