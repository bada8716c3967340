import { expect, it } from 'vitest';

import type { Artifact } from '../../../src/domain/artifact/artifact.ts';
import type { ErrorCode } from '../../../src/domain/errors.ts';
import type { Outcome } from '../../../src/domain/release/outcome.ts';
import { describeWorkflows } from '../describeWorkflows.ts';
import { landsLate, overtaken, refused, unansweredAndLost, unansweredButTaken } from '../faults.ts';
import { identity, tarball } from '../requests.ts';
import type { Fault, World } from '../world.ts';

/** What a read shows after a call without an answer, and what the world does to cause it. */
interface Shown {
  readonly shows: string;
  readonly call: Fault;
  /** What else happens before that. */
  readonly and?: (world: World) => void;
}

/** The decision: how often the call is sent, and how the release ends. */
interface Decided {
  readonly sent: number;
  readonly outcome: Outcome;
  readonly code?: ErrorCode;
  readonly extras?: number;
}

const UNKNOWN: Decided = { sent: 1, outcome: 'errored', code: 'SLIPWAY_OUTCOME_UNKNOWN' };
const unreadable = refused('SLIPWAY_UNAUTHORIZED', 401);

/** An upload path is a key: a revision with it is ours. Images and git refs are none, and are never sent twice. */
const PATCHES: readonly (Shown & { readonly withKey: Decided; readonly withoutKey: Decided })[] = [
  {
    shows: 'ours',
    call: unansweredButTaken,
    withKey: { sent: 1, outcome: 'released' },
    withoutKey: { sent: 1, outcome: 'released' },
  },
  {
    shows: 'nothing new',
    call: unansweredAndLost,
    withKey: { sent: 2, outcome: 'released' },
    withoutKey: UNKNOWN,
  },
  {
    shows: 'somebody else’s, and not ours',
    call: overtaken(unansweredAndLost),
    withKey: { sent: 2, outcome: 'released' },
    withoutKey: UNKNOWN,
  },
  {
    shows: 'somebody else’s, and ours before it',
    call: overtaken(unansweredButTaken),
    withKey: { sent: 1, outcome: 'released' },
    withoutKey: UNKNOWN,
  },
  {
    shows: 'nothing new, and ours only while it is looked for',
    call: landsLate((world) => world.called('readDeployment')),
    withKey: { sent: 1, outcome: 'released' },
    withoutKey: { sent: 1, outcome: 'released' },
  },
  {
    shows: 'nothing new, and ours once that is decided',
    call: landsLate((world) =>
      world.until(() => world.count('patchDeployment') === 2 || world.count('redeployRevision') === 1),
    ),
    withKey: { sent: 2, outcome: 'released', extras: 1 },
    withoutKey: UNKNOWN,
  },
  {
    shows: 'nothing, since reading fails too',
    call: unansweredAndLost,
    and: (world) => world.next('readDeployment', unreadable),
    withKey: UNKNOWN,
    withoutKey: UNKNOWN,
  },
];

/** A deployment's name is its key, for every kind of artifact. */
const CREATIONS: readonly (Shown & Decided)[] = [
  { shows: 'ours', call: unansweredButTaken, sent: 1, outcome: 'released' },
  { shows: 'nothing', call: unansweredAndLost, sent: 2, outcome: 'released' },
  {
    shows: 'one of that name by somebody else',
    call: (perform, world) => {
      world.madeElsewhere('agent');
      return unansweredAndLost(perform, world);
    },
    sent: 1,
    outcome: 'released',
  },
  {
    shows: 'nothing, and ours once it is sent again',
    call: landsLate((world) => world.called('createDeployment', 2)),
    and: (world) => world.next('createDeployment', refused('SLIPWAY_CONFLICT', 409)),
    sent: 2,
    outcome: 'released',
  },
  {
    shows: 'nothing, since reading fails too',
    call: unansweredAndLost,
    and: (world) => world.next('findDeployment', (perform) => perform(), unreadable),
    ...UNKNOWN,
  },
];

/** Redeploying a revision is idempotent: it is sent again unless it has already taken effect. */
const REDEPLOYS: readonly (Shown & Decided & { readonly makesRevision: boolean })[] = [
  {
    shows: 'its new revision',
    makesRevision: true,
    call: unansweredButTaken,
    sent: 1,
    outcome: 'rolled_back',
  },
  { shows: 'nothing new', makesRevision: true, call: unansweredAndLost, sent: 2, outcome: 'rolled_back' },
  {
    shows: 'nothing new where none is made',
    makesRevision: false,
    call: unansweredButTaken,
    sent: 2,
    outcome: 'rolled_back',
  },
  {
    shows: 'somebody else’s, and none of its own',
    makesRevision: true,
    call: overtaken(unansweredAndLost),
    sent: 2,
    outcome: 'rolled_back',
  },
  {
    shows: 'nothing new, and its work once it is sent again',
    makesRevision: false,
    call: landsLate((world) => world.called('redeployRevision', 2)),
    sent: 2,
    outcome: 'rolled_back',
  },
  {
    shows: 'nothing, since reading fails too',
    makesRevision: false,
    call: unansweredAndLost,
    and: (world) => world.next('readDeployment', (perform) => perform(), unreadable),
    sent: 1,
    outcome: 'rollback_failed',
  },
];

/** Images and git refs behave alike, but each has its own way to identify its revision. */
const ARTIFACTS: readonly {
  readonly kind: string;
  readonly artifact: Artifact;
  readonly rows: typeof PATCHES;
}[] = [
  { kind: 'a tarball', artifact: tarball('b'), rows: PATCHES },
  { kind: 'an image', artifact: { kind: 'image', uri: 'registry.test/agent:2' }, rows: PATCHES },
  { kind: 'a git ref', artifact: { kind: 'git', ref: 'main' }, rows: PATCHES.slice(0, 2) },
];

describeWorkflows('the decision after a missing answer', (harness) => {
  const patches = ARTIFACTS.flatMap(({ kind, artifact, rows }) =>
    rows.map(({ withKey, withoutKey, ...row }) => ({
      ...row,
      ...(artifact.kind === 'tarball' ? withKey : withoutKey),
      kind,
      artifact,
    })),
  );
  it.each(patches)('a PATCH of $kind, and reading shows $shows: $outcome after $sent', async (row) => {
    const { target, good, world } = harness.newServingTarget();
    world.next('patchDeployment', row.call);
    row.and?.(world);
    const { artifact } = row;
    const result = await target.release('b', {
      artifact,
      ...(artifact.kind === 'tarball' ? {} : { graphConfigPath: null }),
    });
    expect(result).toMatchObject({ outcome: row.outcome, code: row.code ?? null });
    expect(world.count('patchDeployment')).toBe(row.sent);
    expect(result.extraRevisionIds).toHaveLength(row.extras ?? 0);
    expect(world.active).toBe(row.outcome === 'released' ? result.revisionId : good);
    const ours = world.revisionsOf(artifact).filter((revisionId) => revisionId !== result.revisionId);
    if (row.extras !== undefined) expect(result.reason).toContain(`extra revisions: ${ours.join()}`);
    if (row.outcome === 'released') expect(result.extraRevisionIds).toEqual(ours);
    else expect(result.instructions).toContain('needs a person');
  });

  it.each(CREATIONS)('creating, and reading shows $shows: $outcome after $sent', async (row) => {
    const target = harness.newTarget();
    const { world } = target;
    world.next('createDeployment', row.call);
    row.and?.(world);
    const result = await target.release('b');
    expect(result).toMatchObject({ outcome: row.outcome, code: row.code ?? null });
    expect(world.count('createDeployment')).toBe(row.sent);
    if (row.outcome === 'released') expect(world.active).toBe(result.revisionId);
    else expect(result.instructions).toContain('needs a person');
  });

  it.each(REDEPLOYS)('a redeploy, and reading shows $shows: $outcome after $sent', async (row) => {
    const { target, good, world } = harness.newServingTarget();
    world.controlPlane.redeployMakesRevision = row.makesRevision;
    world.bad.add(identity('b'));
    world.next('redeployRevision', row.call);
    row.and?.(world);
    const result = await target.release('b');
    expect(result.outcome).toBe(row.outcome);
    expect(world.redeployed).toEqual(Array.from({ length: row.sent }, () => good));
    if (row.outcome === 'rolled_back') {
      expect(world.active).toBe(result.servingRevisionId);
      expect(world.deployment?.revisions.find(({ id }) => id === world.active)).toMatchObject({
        identity: 'elsewhere',
      });
    } else expect(result.instructions).toContain('needs a person');
  });
});
