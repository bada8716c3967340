import { describe, expect, it } from 'vitest';

import { namedRevision } from '../../../src/domain/deployment/revision.ts';
import {
  baselineInstead,
  counterLateRevision,
  forgetLateRevision,
  forgetUpload,
  landUpload,
  lateBaselines,
  latenessAfter,
} from '../../../src/domain/target/lateRevisions.ts';
import { NOW, result, seasoned, verified } from './targets.ts';

const HOUR = 3_600_000;
const IN_AN_HOUR = '2026-01-01T01:00:00.000Z';
const LATE = { revisionId: 'late', deploymentId: 'd', restoreTo: 'then', until: 'later' };

describe('a release that abandoned revisions', () => {
  it('has them watched for a while, except the serving one', () => {
    const ended = result('release-1', { givenUpRevisionIds: ['late', 'new'] });
    expect(latenessAfter(seasoned(), ended, HOUR).late).toEqual([
      { revisionId: 'late', deploymentId: 'deployment', restoreTo: 'new', until: IN_AN_HOUR },
    ]);
  });

  it('ends the watch of a revision that now serves on purpose', () => {
    const late = [{ ...LATE, revisionId: 'new' }];
    expect(latenessAfter(seasoned({ late }), result('release-2'), HOUR).late).toEqual([]);
  });

  it('has none watched if there is nothing to restore', () => {
    const changes = { givenUpRevisionIds: ['late'], servingRevisionId: null, unansweredUpload: 'uploads/1' };
    const lateness = latenessAfter(seasoned(), result('release-1', changes), HOUR);
    expect(lateness).toMatchObject({ late: [], lateUploads: [] });
  });
});

describe('a late revision', () => {
  it('that became active is countered with what serves now, without a hold', () => {
    const state = counterLateRevision(seasoned({ late: [LATE], activeRevisionId: 'now' }), LATE, 'id');
    expect(state).toMatchObject({ late: [], hold: null });
    expect(state.rollbacks).toMatchObject([{ requestId: 'id', to: 'now', requestedBy: { who: 'slipway' } }]);
    expect(state.rollbacks.map(namedRevision)).toEqual([undefined]);
  });

  it('that became active while the serving one is unknown is countered with what served then', () => {
    const { rollbacks } = counterLateRevision(seasoned({ late: [LATE] }), LATE, 'id');
    expect(rollbacks).toMatchObject([{ to: 'then' }]);
  });

  it('that became active is not countered with a revision that a person has left since', () => {
    const known = [{ ...verified('now'), quarantined: true as const }];
    const state = seasoned({ late: [LATE], activeRevisionId: 'now', known });
    const [counter] = counterLateRevision(state, LATE, 'id').rollbacks;
    expect(counter).toMatchObject({ requestId: 'id', requestedBy: { from: 'watch' } });
    expect(counter?.to).toBeUndefined();
  });

  it('is dropped separately', () => {
    const other = { ...LATE, revisionId: 'other' };
    expect(forgetLateRevision(seasoned({ late: [LATE, other] }), LATE).late).toEqual([other]);
  });
});

describe('an upload with an unanswered PATCH', () => {
  const upload = {
    releaseId: 'release-1',
    objectPath: 'uploads/1',
    deploymentId: 'deployment',
    revisionId: 'new',
    known: ['new'],
    restoreTo: 'old',
    until: IN_AN_HOUR,
  };
  const unanswered = result('release-1', {
    outcome: 'rolled_back',
    servingRevisionId: 'old',
    unansweredUpload: 'uploads/1',
    extraRevisionIds: ['twin'],
  });

  it('is watched for a while, with the recorded revisions; extra ones are reported', () => {
    expect(latenessAfter(seasoned(), unanswered, HOUR)).toEqual({
      late: [],
      lateUploads: [{ ...upload, known: ['new', 'twin'] }],
      extras: [{ releaseId: 'release-1', revisionId: 'twin', at: NOW, landedLate: false }],
    });
  });

  it('treats a redeployed copy as a copy, not as a late revision', () => {
    const copied = result('rollback-2', { copyRevisionIds: ['copy'] });
    const { lateUploads } = latenessAfter(seasoned({ lateUploads: [upload] }), copied, HOUR);
    expect(lateUploads).toEqual([{ ...upload, known: ['new', 'copy'] }]);
  });

  it('is not watched after a failed restore, because its revision may be better than what serves', () => {
    const before = seasoned({ lateUploads: [upload] });
    const after = (changes: Parameters<typeof result>[1]) =>
      latenessAfter(before, result('release-2', { unansweredUpload: 'uploads/2', ...changes }), HOUR);
    expect(after({ outcome: 'rollback_failed' }).lateUploads).toEqual([]);
    expect(after({ outcome: 'errored', servingRevisionId: null }).lateUploads).toEqual([]);
    expect(after({ outcome: 'errored' }).lateUploads).toHaveLength(2);
  });

  it('that lands is reported, its revision is watched, and the watch continues', () => {
    const before = seasoned({ lateUploads: [upload], known: [verified('another')] });
    const state = landUpload(before, { ...upload, known: ['another'] }, 'landed', NOW);
    expect(state.extras).toEqual([
      { releaseId: 'release-1', revisionId: 'landed', at: NOW, landedLate: true },
    ]);
    expect(state.late).toEqual([
      { revisionId: 'landed', deploymentId: 'deployment', restoreTo: 'old', until: IN_AN_HOUR },
    ]);
    expect(state.lateUploads).toEqual([{ ...upload, known: ['new', 'landed'] }]);
  });

  it('whose own revision is verified is only reported, because it may be a manual copy', () => {
    const before = seasoned({ lateUploads: [upload], known: [verified('new')] });
    const state = landUpload(before, upload, 'landed', NOW);
    expect(state.extras).toHaveLength(1);
    expect(state.late).toEqual([]);
  });

  it('is dropped separately', () => {
    const other = { ...upload, objectPath: 'uploads/2' };
    expect(forgetUpload(seasoned({ lateUploads: [upload, other] }), upload).lateUploads).toEqual([other]);
  });
});

describe('the revision that a release finds serving', () => {
  const snapshot = (activeRevisionId: string | null, latestTarballPath: string | null = null) => ({
    deploymentId: 'd',
    agentUrl: null,
    latestImageUri: null,
    latestRepoRef: null,
    activeRevisionId,
    latestRevisionId: 'landed',
    latestTarballPath,
  });
  const upload = {
    releaseId: 'release-1',
    objectPath: 'uploads/1',
    deploymentId: 'd',
    revisionId: 'own',
    known: ['own'],
    restoreTo: 'then',
    until: 'later',
  };

  it('is no baseline if it was abandoned: the intended one is', () => {
    const known = lateBaselines(seasoned({ late: [LATE], activeRevisionId: 'good' }));
    expect(baselineInstead(known, snapshot('late'))).toBe('good');
    expect(baselineInstead(known, snapshot('good'))).toBeUndefined();
    expect(baselineInstead(known, snapshot(null))).toBeUndefined();
    const unknown = lateBaselines(seasoned({ late: [LATE], activeRevisionId: null }));
    expect(baselineInstead(unknown, snapshot('late'))).toBe('then');
  });

  it('is no baseline if it comes from an unanswered PATCH, unless it may be a manual copy', () => {
    const known = lateBaselines(seasoned({ lateUploads: [upload], activeRevisionId: 'good', known: [] }));
    expect(baselineInstead(known, snapshot('landed', 'uploads/1'))).toBe('good');
    expect(baselineInstead(known, snapshot('landed', 'uploads/2'))).toBeUndefined();
    expect(baselineInstead(known, snapshot('other', 'uploads/1'))).toBeUndefined();
    const copied = lateBaselines(seasoned({ lateUploads: [upload], known: [verified('own')] }));
    expect(baselineInstead(copied, snapshot('landed', 'uploads/1'))).toBeUndefined();
  });
});
