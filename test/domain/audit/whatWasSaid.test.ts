import { describe, expect, it } from 'vitest';

import type { ActivityFact, MessageFact, WorkFact } from '../../../src/domain/audit/facts.ts';
import { leavesWhatServed } from '../../../src/domain/audit/restoring.ts';
import { nothingForgotten } from '../../../src/domain/audit/oneAtATime.ts';
import type { KnownRevision, ReleaseResult } from '../../../src/domain/release/release.ts';
import { verified } from '../target/targets.ts';
import { activity, targetFacts, workFact } from './activityFact.ts';

const ROLLBACK = { kind: 'rollback', at: 10, requestId: '', to: null, leaves: null } as const;
const KNOWN = [verified('R0'), verified('R1')];

describe('a rollback without a name, by the audit', () => {
  const STILL = 'a rollback was asked for while revision R1 served, and it serves still';

  const stopped = release(5, 20, { outcome: 'aborted', servingRevisionId: 'R1' }, [look('R1', 6)]);

  it('must not stop a release and leave the revision that served before it', () => {
    expect(left([ROLLBACK], stopped)).toEqual([STILL]);
    expect(left([{ ...ROLLBACK, leaves: 'R1' }], stopped)).toEqual([STILL]);
  });

  it('may stop a release and continue to the revision before', () => {
    const back = rollback(21, { outcome: 'rolled_back', servingRevisionId: 'R0' }, look('R1', 22));
    expect(left([ROLLBACK], stopped, back)).toEqual([]);
    const inVain = rollback(21, { outcome: 'failed', servingRevisionId: 'R1' }, look('R1', 22));
    expect(left([ROLLBACK], stopped, inVain)).toEqual([]);
  });

  it('may go back to the revision that a person had replaced by hand while the release waited', () => {
    const back = rollback(21, { outcome: 'rolled_back', servingRevisionId: 'R1' }, look('by hand', 22));
    expect(left([ROLLBACK], stopped, back)).toEqual([]);
  });

  it('leaves the revision of a release that serves already, and restores the one before it', () => {
    const serving = activity('confirmServing', { revisionId: 'R2' }, 8);
    const activities = [look('R1', 6), activity('awaitDeployed', { revisionId: 'R2' }, 7), serving];
    const ends = (servingRevisionId: string): WorkFact =>
      release(5, 20, { outcome: 'rolled_back', revisionId: 'R2', servingRevisionId }, activities);
    expect(left([ROLLBACK], ends('R1'))).toEqual([]);
    expect(left([ROLLBACK], ends('R2'))).toHaveLength(1);
  });

  it('leaves nothing if it names the revision of a release that does not serve yet', () => {
    const named = { ...ROLLBACK, leaves: 'R2' };
    const released = (servesAt: number): WorkFact =>
      release(5, 20, { outcome: 'released', revisionId: 'R2', servingRevisionId: 'R2' }, [
        ...[look('R1', 6), activity('awaitDeployed', { revisionId: 'R2' }, 7)],
        activity('confirmServing', { revisionId: 'R2' }, servesAt),
      ]);
    expect(left([named], released(15))).toEqual([]);
    expect(left([named], released(8))).toHaveLength(1);
  });

  it('of an idle target leaves the serving revision, and its copies', () => {
    const ending = (revisionId: string): WorkFact =>
      rollback(11, { outcome: 'rolled_back', servingRevisionId: revisionId }, look('R1', 12));
    expect(left([ROLLBACK], ending('R0'))).toEqual([]);
    expect(left([ROLLBACK], ending('R1'))).toEqual([STILL]);
    const copy: KnownRevision = { ...verified('R1-again'), copyOf: 'R1' };
    expect(left([ROLLBACK], { ...ending('R1-again'), known: [...KNOWN, copy] })).toEqual([STILL]);
  });

  it('may be overridden by a person who names the revision', () => {
    const named = rollback(21, { outcome: 'rolled_back', servingRevisionId: 'R1' }, look('R0', 22));
    const back = { ...named, request: { requestId: 'b', to: 'R1', requestedBy: { who: 'ada', from: 'x' } } };
    const overruled = [
      { ...ROLLBACK, leaves: 'R1' },
      { ...ROLLBACK, at: 15, to: 'R1' },
    ];
    expect(left(overruled, back)).toEqual([]);
  });

  it('must not restore the earlier revision of a release that was never deployed', () => {
    const ended = (status: string): WorkFact =>
      release(5, 20, { outcome: 'rolled_back', revisionId: 'R2', servingRevisionId: 'R1' }, [
        ...[look('R1', 6), activity('awaitDeployed', { revisionId: 'R2' }, 7)],
        activity('listRevisions', {}, 15, { revisions: [{ revisionId: 'R2', status }] }),
      ]);
    expect(left([ROLLBACK], ended('BUILDING'))).toEqual([STILL]);
    expect(left([ROLLBACK], ended('DEPLOYED'))).toEqual([]);
    const unread = evidence([ROLLBACK], [ended('BUILDING')]);
    const inVain: ActivityFact = { ...look('R1', 9), outcome: 'failed', result: null };
    expect(leavesWhatServed({ ...unread, target: { ...unread.target, activities: [inVain] } })).toEqual([]);
  });

  it('must not be rejected while a revision serves and no release runs', () => {
    const refused = { kind: 'rollback refused', at: 10 } as const;
    const before = release(1, 5, { outcome: 'released', servingRevisionId: 'R1' }, []);
    const afterwards = release(20, 30, { outcome: 'released', servingRevisionId: 'R2' }, []);
    const what = 'a rollback was rejected while revision R1 served and nothing ran';
    expect(left([refused], before, afterwards)).toEqual([what]);
    expect(left([refused])).toEqual([]);
    expect(left([refused], { ...before, endedAt: 15 })).toEqual([]);
    expect(left([refused], before, rollback(11, { outcome: 'rolled_back' }, look('R1', 12)))).toEqual([]);
    expect(left([{ kind: 'started afresh', at: 7 }, refused], before)).toEqual([]);
  });

  it('is not judged while the target is busy, or right after a restore', () => {
    expect(left([ROLLBACK], { ...stopped, endedAt: null })).toEqual([]);
    const restored = rollback(1, { outcome: 'rolled_back', servingRevisionId: 'R1' }, look('R2', 2));
    const before = { ...restored, activities: [activity('redeployRevision', { revisionId: 'R1' }, 3)] };
    expect(left([ROLLBACK], { ...before, endedAt: 4 }, stopped)).toEqual([]);
  });

  function left(said: readonly MessageFact[], ...works: readonly WorkFact[]): string[] {
    return leavesWhatServed(evidence(said, works)).map(({ what }) => what);
  }
});

describe('a person’s message to a target, by the audit', () => {
  const queued = (change: Partial<Extract<MessageFact, { kind: 'queued' }>> = {}): MessageFact => ({
    kind: 'queued',
    at: 30,
    submission: 'one',
    releaseId: 'release-1',
    artifact: 'sha256:x',
    overridesHold: false,
    ...change,
  });
  const QUARANTINE = { kind: 'quarantine', at: 10, artifact: 'sha256:x' } as const;
  const UNQUARANTINE = { ...QUARANTINE, kind: 'unquarantine', at: 20 } as const;

  it('holds it until a person releases the hold, in any run of the target', () => {
    const hold = { kind: 'hold', at: 10 } as const;
    expect(forgotten(hold, queued())).toEqual(['it was queued although the target was on hold']);
    expect(forgotten(hold, { kind: 'unhold', at: 20 }, queued())).toEqual([]);
    expect(forgotten(hold, queued({ overridesHold: true }))).toEqual([]);
    expect(forgotten(hold, { kind: 'started afresh', at: 20 }, queued())).toEqual([]);
    expect(forgotten(hold, { kind: 'retired', at: 20 }, queued())).toEqual([]);
  });

  it('keeps a person’s hold over a rollback’s, which may end with the rollback', () => {
    expect(forgotten(ROLLBACK, queued())).toEqual([]);
    const what = 'it was queued although the target was on hold';
    expect(forgotten(ROLLBACK, { kind: 'hold', at: 20 }, queued())).toEqual([what]);
  });

  it('blocks an artifact until a person releases it', () => {
    expect(forgotten(QUARANTINE, queued())).toEqual(['it was queued although sha256:x was in quarantine']);
    expect(forgotten(QUARANTINE, queued({ artifact: 'sha256:y' }))).toEqual([]);
    expect(forgotten(QUARANTINE, UNQUARANTINE, queued())).toEqual([]);
    expect(forgotten(QUARANTINE, { ...UNQUARANTINE, artifact: 'a revision of it' }, queued())).toEqual([]);
    expect(forgotten(QUARANTINE, { kind: 'started afresh', at: 20 }, queued())).toEqual([]);
    expect(forgotten(QUARANTINE, { kind: 'retired', at: 20 }, queued())).toHaveLength(1);
  });

  function forgotten(...said: readonly MessageFact[]): string[] {
    return nothingForgotten(evidence(said, [])).map(({ what }) => what);
  }
});

function evidence(said: readonly MessageFact[], works: readonly WorkFact[]) {
  return { target: targetFacts({ works, said }), observed: null, secrets: [] };
}

function release(
  startedAt: number,
  endedAt: number,
  ending: Partial<ReleaseResult>,
  activities: readonly ActivityFact[],
): WorkFact {
  return workFact('release-2', { startedAt, endedAt, known: KNOWN, activities }, ending);
}

function rollback(
  startedAt: number,
  ending: Partial<ReleaseResult>,
  ...activities: ActivityFact[]
): WorkFact {
  const request = { requestId: 'a', to: 'R0', from: 'R1', requestedBy: { who: 'ada', from: 'x' } };
  const facts = {
    kind: 'rollback',
    startedAt,
    endedAt: startedAt + 9,
    known: KNOWN,
    activities,
    request,
  } as const;
  return workFact('rollback-3', facts, ending);
}

/** A read that finds a revision active. */
function look(activeRevisionId: string, at: number): ActivityFact {
  const deployment = { activeRevisionId, latestRevisionId: activeRevisionId };
  return { ...activity('findDeployment', {}, at), result: { deployment } };
}
