import { expect, it } from 'vitest';

import { type Artifact, artifactIdentity } from '../../../src/domain/artifact/artifact.ts';
import { artifactFields } from '../../../src/domain/deployment/patchedFields.ts';
import type { ReleaseResult } from '../../../src/domain/release/release.ts';
import { describeWorkflows } from '../describeWorkflows.ts';
import {
  answeredWithOldLatest,
  mixedWith,
  overtaken,
  readsLag,
  refused,
  takenAndRefused,
  unansweredAndLost,
  unansweredButTaken,
} from '../faults.ts';
import { waitingFor } from '../moments.ts';
import { tarball } from '../requests.ts';
import type { TargetUnderTest } from '../targetUnderTest.ts';
import type { World } from '../world.ts';

const ARTIFACTS: readonly (readonly [string, Artifact])[] = [
  ['a tarball', tarball('b')],
  ['an image', { kind: 'image', uri: 'registry.test/agent:latest' }],
  ['a git ref', { kind: 'git', ref: 'main' }],
];
/** Another client's source, of each kind. */
const OTHER_SOURCE = {
  tarball: { source_tarball_path: 'uploads/theirs' },
  image: { image_uri: 'registry.test/theirs:latest' },
  git: { repo_ref: 'theirs' },
} as const;

/** More revisions than a page of a list has. */
const MANY = 130;

const manyElsewhere = (world: World): void => {
  for (let number = 0; number < MANY; number++) world.patchElsewhere(`somebody else ${number}`);
};

function release(target: TargetUnderTest, artifact: Artifact): Promise<ReleaseResult> {
  return target.release('b', {
    artifact,
    ...(artifact.kind === 'tarball' ? {} : { graphConfigPath: null }),
  });
}

describeWorkflows('the revision of a release', (harness) => {
  it.each(ARTIFACTS)(
    'of %s is never an earlier one, whatever the PATCH’s answer names',
    async (_, artifact) => {
      const { target, good, world } = harness.newServingTarget();
      world.next('patchDeployment', answeredWithOldLatest);
      const { outcome, revisionId, servingRevisionId } = await release(target, artifact);
      expect(outcome).toBe('released');
      expect(revisionId).not.toBe(good);
      expect([revisionId]).toEqual(world.revisionsOf(artifact));
      expect(servingRevisionId).toBe(world.active);
    },
  );

  it.each(
    ARTIFACTS.flatMap(([what, artifact]) =>
      (['before', 'after'] as const).map((order) => [what, order, artifact] as const),
    ),
  )(
    'of %s is never another client’s, whose PATCH came %s ours and whose revision the answer names',
    async (_, order, artifact) => {
      const { target, world } = harness.newServingTarget();
      world.next(
        'patchDeployment',
        mixedWith(order, () => world.patchElsewhere('theirs', OTHER_SOURCE[artifact.kind])),
      );
      const { outcome, revisionId } = await release(target, artifact);
      expect([revisionId]).toEqual(world.revisionsOf(artifact));
      expect(outcome).toBe('released');
    },
  );

  it.each(ARTIFACTS.slice(1))(
    'of %s is unknown if two new ones carry it, whichever the answer names: the earlier revision is restored',
    async (_, artifact) => {
      const { target, good, world } = harness.newServingTarget();
      const same = artifactFields(artifact, null);
      world.next(
        'patchDeployment',
        mixedWith('before', () => world.patchElsewhere('theirs', same)),
      );
      const result = await release(target, artifact);
      expect(result).toMatchObject({ outcome: 'errored', code: 'SLIPWAY_OUTCOME_UNKNOWN' });
      expect(world.count('patchDeployment')).toBe(1);
      expect(world.active).toBe(good);
    },
  );

  it.each(ARTIFACTS.slice(1))(
    'of %s is its own, although another client sent the same one while the release waited for approval',
    async (_, artifact) => {
      const { target } = harness.newServingTarget();
      const { world } = target;
      const approval = { required: 1, withinMs: 3_600_000 };
      const releaseId = await waitingFor('approval', target, 'b', {
        artifact,
        graphConfigPath: null,
        approval,
      });
      const theirs = world.patchElsewhere(artifactIdentity(artifact), artifactFields(artifact, null));
      await target.say(releaseId, 'approve', { who: 'bo' });
      const { outcome, revisionId } = await target.result(releaseId);
      expect(outcome).toBe('released');
      expect([theirs, revisionId]).toEqual(world.revisionsOf(artifact));
    },
  );

  it('is looked for a while although the release was asked to stop: reads may lag behind its PATCH', async () => {
    const { target, good, world } = harness.newServingTarget();
    world.next('patchDeployment', async (perform, by) => {
      const answer = await answeredWithOldLatest(perform, by);
      await target.signal('abort', { who: 'bo', reason: 'not this one' });
      readsLag(by, good, 1_200);
      return answer;
    });
    const { outcome, revisionId } = await target.release('b');
    expect(outcome).toBe('aborted');
    expect([revisionId]).toEqual(world.revisionsOf(tarball('b')));
    expect(world.active).toBe(good);
  });

  it('is looked for behind a page of other clients’ before its PATCH is sent again', async () => {
    const { target, world } = harness.newServingTarget();
    world.next('patchDeployment', overtaken(unansweredButTaken, manyElsewhere));
    const { outcome, revisionId } = await target.release('b');
    expect(outcome).toBe('released');
    expect(world.count('patchDeployment')).toBe(1);
    expect(world.revisionsOf(tarball('b'))).toEqual([revisionId]);
  });

  it('is reported beside its twin, although many of other clients came after them', async () => {
    const { target, world } = harness.newServingTarget();
    world.next('patchDeployment', async (perform) => {
      await perform();
      return perform();
    });
    world.next('awaitDeployed', (perform) => {
      manyElsewhere(world);
      return perform();
    });
    const { outcome, revisionId, extraRevisionIds } = await target.release('b');
    expect(outcome).toBe('released');
    const ours = world.revisionsOf(tarball('b'));
    expect(ours).toHaveLength(2);
    expect(extraRevisionIds).toEqual(ours.filter((other) => other !== revisionId));
  });

  it.each([
    ['taken', unansweredButTaken],
    ['lost', unansweredAndLost],
  ])(
    'is unknown without a list, after its PATCH was %s and another one followed: it is not sent again',
    async (_, call) => {
      const { target, good, world } = harness.newServingTarget();
      world.controlPlane.offersList = false;
      world.next('patchDeployment', overtaken(call, manyElsewhere));
      const result = await target.release('b');
      expect(result).toMatchObject({ outcome: 'errored', code: 'SLIPWAY_OUTCOME_UNKNOWN' });
      expect(world.count('patchDeployment')).toBe(1);
      expect(world.active).toBe(good);
    },
  );
});

describeWorkflows('a deployment that the release has just created', (harness) => {
  it.each(ARTIFACTS)(
    'may name its first revision late, which is not taken for the release’s own, for %s',
    async (_, artifact) => {
      const target = harness.newTarget();
      target.world.next('createDeployment', answeredWithOldLatest);
      if (artifact.kind !== 'tarball') {
        target.world.next('readDeployment', refused('SLIPWAY_NOT_FOUND', 404));
      }
      const { outcome, revisionId } = await release(target, artifact);
      expect(outcome).toBe('released');
      expect([revisionId]).toEqual(target.world.revisionsOf(artifact));
    },
  );

  it('may not be known at the PATCH yet, which is sent again', async () => {
    const target = harness.newTarget();
    target.world.next('patchDeployment', refused('SLIPWAY_NOT_FOUND', 404));
    expect(await target.release('b')).toMatchObject({ outcome: 'released' });
    expect(target.world.count('patchDeployment')).toBe(2);
  });
});

describeWorkflows('creating a deployment, answered with a conflict', (harness) => {
  it.each(ARTIFACTS)('adopts the deployment of that name, for %s', async (_, artifact) => {
    const target = harness.newTarget();
    const { world } = target;
    world.next('createDeployment', takenAndRefused);
    const result = await release(target, artifact);
    expect(result).toMatchObject({ outcome: 'released', revisionId: world.active });
    expect(world.count('createDeployment')).toBe(1);
  });

  it('restores the earlier revision on one that another client created first', async () => {
    const target = harness.newTarget();
    const { world } = target;
    let theirs = '';
    world.next('createDeployment', () => {
      theirs = world.madeElsewhere('agent');
      return refused('SLIPWAY_CONFLICT', 409)(() => Promise.resolve(), world);
    });
    world.bad.add(artifactIdentity(tarball('b')));
    const { outcome, servingRevisionId } = await target.release('b');
    expect(outcome).toBe('rolled_back');
    expect(servingRevisionId).toBe(theirs);
  });

  it('gives advice if there is none of that name', async () => {
    const target = harness.newTarget();
    target.world.next('createDeployment', refused('SLIPWAY_CONFLICT', 409));
    const { outcome, code, reason } = await target.release('b');
    expect({ outcome, code }).toEqual({ outcome: 'failed', code: 'SLIPWAY_CONFLICT' });
    expect(reason).toContain('targets.production.deploymentId');
    expect(target.world.count('createDeployment')).toBe(1);
  });
});
