import { pick } from '@slipway/contract/pick';
import { describe, expect, it } from 'vitest';

import type { DeploymentSnapshot } from '../../../src/domain/deployment/revision.ts';
import {
  type Candidate,
  chooseCandidate,
  confirmCandidate,
  type PromotionTargets,
  seeTarget,
  type TargetSeen,
} from '../../../src/domain/promotion/candidate.ts';
import { quarantineArtifact, unquarantineArtifact } from '../../../src/domain/target/quarantine.ts';
import { submitRelease } from '../../../src/domain/target/targetQueue.ts';
import { recordResult } from '../../../src/domain/target/targetResult.ts';
import type { TargetState } from '../../../src/domain/target/targetState.ts';
import { ADA, NOW, request, result, seasoned, verified } from '../target/targets.ts';
import { A, B, HOLD, seen } from './targetSeen.ts';

const CANARY = seen('canary', B);
const PRODUCTION = seen('production', A);

const LEAVING = { requestId: 'q', to: 'canary-0', requestedBy: HOLD.by };

function targets(from: Partial<TargetSeen> = {}, to: Partial<TargetSeen> = {}): PromotionTargets {
  return { from: { ...CANARY, ...from }, to: { ...PRODUCTION, ...to }, downstream: [] };
}

describe('the candidate', () => {
  it('is the verified revision that serves on the source target', () => {
    const { artifact, deploymentId, agentUrl, verifiedAt, commit, releasedBy } = CANARY;
    const where = { artifact, revisionId: 'canary-1', deploymentId, agentUrl };
    const candidate = { ...where, verifiedAt, commit, releasedBy };
    expect(chooseCandidate(targets())).toEqual({ kind: 'candidate', candidate });
  });

  it('is absent if the other target runs it already', () => {
    expect(chooseCandidate(targets({}, { artifact: B }))).toMatchObject({ kind: 'nothing_to_do' });
  });

  it('may be what the other target ran before its deployment was deleted by hand', () => {
    const deleted = { artifact: B, servingRevisionId: null, deploymentId: null };
    expect(chooseCandidate(targets({}, deleted))).toMatchObject({ kind: 'candidate' });
  });

  it('of a target without releases may be promoted to another one without', () => {
    const never = { known: false, activeRevisionId: null, servingRevisionId: null, artifact: null };
    expect(chooseCandidate(targets({}, never))).toMatchObject({ kind: 'candidate' });
  });

  it.each<[string, PromotionTargets, string]>([
    ['it was never released', targets({ known: false }), 'has never taken a release'],
    ['nothing serves', targets({ servingRevisionId: null }), 'nothing serves on "canary"'],
    ['it is not verified', targets({ verifiedAt: null }), 'is not verified'],
    ['a rollback left it', targets({ verifiedAt: null, servesQuarantined: true }), 'is in quarantine'],
    [
      'a rollback is leaving it',
      targets({ leaving: LEAVING }),
      'serves on "canary", is being rolled back, by bo: incident',
    ],
    ['somebody else shipped it', targets({ artifact: null }), 'was not shipped from here'],
    ['a branch was released', targets({ artifact: 'git:main' }), 'may come to mean something else'],
    [
      'an image has a tag alone',
      targets({ artifact: 'image:r.test/a:1' }),
      'may come to mean something else',
    ],
    [
      'the other target runs what came after it, and was rolled back here',
      targets({ newer: [A] }),
      '"production" runs sha256:aaaaaaaaaaaa, which "canary" released after sha256:bbbbbbbbbbbb and has left',
    ],
    ['the target does not take it', targets({}, { quarantined: [B] }), 'in quarantine'],
    [
      'a rollback without a hold has left it on the other target',
      targets({}, { barred: [B] }),
      `without a hold, so that no promotion releases it there again. To allow it: slipway unquarantine production ${B}`,
    ],
    [
      'the target is on hold',
      targets({}, { hold: HOLD }),
      'promotions that lead to "production" are stopped',
    ],
    [
      'a target further down is on hold',
      { ...targets(), downstream: [{ ...PRODUCTION, name: 'europe', hold: HOLD }] },
      'promotions that lead to "europe" are stopped: it is on hold since 2026-11-15 00:00:00Z, set by bo: incident',
    ],
  ])('is rejected if %s', (_why, targets, reason) => {
    const choice = chooseCandidate(targets);
    expect(choice).toMatchObject({ kind: 'rejected' });
    expect(choice.kind === 'candidate' ? '' : choice.reason).toContain(reason);
  });

  it('may be an image with its digest', () => {
    const artifact = `image:registry.test/agent@sha256:${'b'.repeat(64)}`;
    expect(chooseCandidate(targets({ artifact }))).toMatchObject({
      kind: 'candidate',
      candidate: { artifact },
    });
  });
});

describe('a candidate after its soak', () => {
  const choice = chooseCandidate(targets());
  const candidate = choice.kind === 'candidate' ? choice.candidate : ({} as Candidate);

  it.each<[string, PromotionTargets, string]>([
    ['stands where nothing has changed', targets(), 'stands'],
    ['is superseded by what serves instead', targets({ servingRevisionId: 'c2' }), 'superseded'],
    ['is superseded where it is not verified any more', targets({ verifiedAt: null }), 'superseded'],
    ['is superseded by a rollback that is about to leave it', targets({ leaving: LEAVING }), 'superseded'],
    [
      'is superseded by a release there',
      targets({}, { servingRevisionId: 'p2', activeRevisionId: 'p2' }),
      'superseded',
    ],
    ['waits for a person after a change by hand', targets({}, { servingRevisionId: 'x' }), 'changed_by_hand'],
    ['is rejected after a hold of its target', targets({}, { hold: HOLD }), 'rejected'],
    ['is rejected where a rollback without a hold has left it', targets({}, { barred: [B] }), 'rejected'],
  ])('%s', (_what, targets, kind) => {
    expect(confirmCandidate(candidate, 'production-1', targets).kind).toBe(kind);
  });

  it('is superseded by its quarantine, which is the reason', () => {
    const quarantined = targets({ verifiedAt: null, servesQuarantined: true });
    expect(confirmCandidate(candidate, 'production-1', quarantined)).toEqual({
      kind: 'superseded',
      reason: 'the candidate is in quarantine on "canary"',
    });
  });

  it('reports what replaced it, and for whom', () => {
    const replaced = targets({ servingRevisionId: 'c0', changedBy: 'rollback-3 by bo: incident' });
    expect(confirmCandidate(candidate, 'production-1', replaced)).toEqual({
      kind: 'superseded',
      reason: 'revision c0 serves on "canary" instead of the candidate: rollback-3 by bo: incident',
    });
  });
});

describe('a candidate after releases that failed and restored copies', () => {
  const choice = chooseCandidate(targets());
  const candidate = choice.kind === 'candidate' ? choice.candidate : ({} as Candidate);
  const known = ['canary-1', 'production-1'].flatMap((original) => [
    verified(original),
    { ...verified(`${original}-copy`), copyOf: original },
  ]);
  const restored = (target: TargetSeen, serves: string): TargetSeen => {
    const state = { ...seasoned(), known, activeRevisionId: serves };
    const deployment = { activeRevisionId: serves } as DeploymentSnapshot;
    const seenNow = seeTarget(target.name, { state, running: null }, deployment, '');
    return { ...target, ...pick(seenNow, 'sameAs', 'servingRevisionId', 'activeRevisionId') };
  };

  it.each([
    ['canary-1-copy', 'production-1', 'stands'],
    ['canary-1', 'production-1-copy', 'stands'],
    ['production-1', 'production-1', 'superseded'],
    ['canary-1', 'canary-1-copy', 'superseded'],
  ])('if %s and %s serve, %s', (from, to, kind) => {
    const now = { from: restored(CANARY, from), to: restored(PRODUCTION, to), downstream: [] };
    expect(confirmCandidate(candidate, 'production-1', now).kind).toBe(kind);
  });
});

it('a copy that a redeploy made belongs to the release of its original, also to its releaser', () => {
  const state = recordResult(seasoned(), result('release-1', { revisionId: 'R1', commit: 'c0ffee' }), 0);
  const copy = { ...verified('R2'), artifact: B, copyOf: 'R1' };
  const copied = { ...state, known: [verified('R1'), copy], activeRevisionId: 'R2' };
  const canary = seeTarget('canary', { state: copied, running: null }, null, 'http://agent.test');
  expect(canary).toMatchObject({ artifact: B, commit: 'c0ffee', releasedBy: ADA });
});

it('what serves is in quarantine if a rollback from it found nothing to restore', () => {
  const known = [{ ...verified('R1'), quarantined: true as const }];
  const state = { ...seasoned(), known, activeRevisionId: 'R1' };
  const canary = seeTarget('canary', { state, running: null }, null, '');
  expect(canary).toMatchObject({ verifiedAt: null, servesQuarantined: true });
});

it('what a rollback without a hold has left is barred, until it is released again or a person allows it', () => {
  const left = { ...verified('R1'), artifact: A, quarantined: true, barred: true } as const;
  const barred = (...known: TargetState['known']) =>
    seeTarget('production', { state: { ...seasoned(), known }, running: null }, null, '').barred;
  expect(barred(left, { ...verified('R2'), artifact: B })).toEqual([A]);
  expect(barred({ ...left, barred: undefined })).toEqual([]);
  expect(barred(left, { ...verified('R2'), artifact: A })).toEqual([]);
  const freed = unquarantineArtifact({ ...seasoned(), known: [left] }, A);
  expect(barred(...quarantineArtifact(freed, A, ADA, NOW).known)).toEqual([]);
});

it('what serves keeps its commit and its releaser, however many releases never started since', () => {
  const serves = { revisionId: 'R1', servingRevisionId: 'R1', commit: 'c0ffee' };
  const released = recordResult(seasoned(), result('release-1', serves), 0);
  const held: TargetState = { ...released, known: [verified('R1')], activeRevisionId: 'R1', hold: HOLD };
  const state = Array.from({ length: 150 }, (_, index) => request(`key-${index}`)).reduce(
    (before, rejected) => submitRelease(before, null, rejected, NOW).state,
    held,
  );
  expect(state.history).toHaveLength(100);
  expect(seeTarget('canary', { state, running: null }, null, '')).toMatchObject({
    commit: 'c0ffee',
    releasedBy: ADA,
  });
});

it('what was released after what serves is newer, unless what serves was released again', () => {
  const known = [
    { ...verified('R1'), artifact: A },
    { ...verified('R2'), artifact: B, quarantined: true as const },
    { ...verified('R3'), artifact: 'sha256:c', verified: false },
    { ...verified('R4'), artifact: 'sha256:d', verified: false, skipped: true as const },
    { ...verified('R5'), artifact: A, copyOf: 'R1' },
    { ...verified('R6'), artifact: A },
  ];
  // Without any history, as the record store keeps it.
  const newer = (activeRevisionId: string) =>
    seeTarget('canary', { state: { ...seasoned(), known, activeRevisionId }, running: null }, null, '').newer;
  expect(newer('R1')).toEqual([B, 'sha256:d', A]);
  expect(newer('R5')).toEqual(newer('R1'));
  expect(newer('R6')).toEqual([]);
  expect(newer('of an unknown release')).toEqual([]);
});

it('what serves is being left as long as a rollback to another revision waits or runs', () => {
  const known = [verified('R1'), { ...verified('R2'), copyOf: 'R1' }, verified('R3')];
  const rollback = (to?: string) => ({ requestId: 'q', to, requestedBy: ADA });
  const leaving = (to?: string) => {
    const state = { ...seasoned(), known, activeRevisionId: 'R2', rollbacks: [rollback(to)] };
    return seeTarget('canary', { state, running: null }, null, '').leaving;
  };
  expect(leaving('R3')).toEqual(rollback('R3'));
  expect(leaving()).toEqual(rollback());
  expect(leaving('R1')).toBeUndefined();
});

it('what changed what serves is a change by hand, or the work that released or restored it, not one that failed', () => {
  const released = recordResult(
    seasoned(),
    result('release-1', { servingRevisionId: 'R1', requestedBy: ADA }),
    0,
  );
  const state = recordResult(
    released,
    result('release-2', { outcome: 'failed', servingRevisionId: 'R1' }),
    0,
  );
  const deployment = { deploymentId: 'd', activeRevisionId: 'R1', agentUrl: null, latestRevisionId: 'R1' };
  const serves = { ...deployment, latestTarballPath: null, latestImageUri: null, latestRepoRef: null };
  const changedBy = (activeRevisionId: string) =>
    seeTarget('canary', { state: { ...state, activeRevisionId }, running: null }, serves, '').changedBy;
  expect(changedBy('R1')).toBe('release-1 by ada: a reason');
  // As after "rollback --break-glass".
  expect(changedBy('R2')).toBe('a change by hand');
});
