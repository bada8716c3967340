import { describe, expect, it } from 'vitest';

import {
  copyMadeElsewhere,
  isSameRevision,
  leaveRevision,
  leftByHand,
  missedRevision,
  originalOf,
  revisionPhase,
  withCopies,
} from '../../../src/domain/deployment/revision.ts';
import { NOW, rollback, verified } from '../target/targets.ts';

describe('a revision’s status', () => {
  it.each([
    ...['CREATING', 'QUEUED', 'AWAITING_BUILD', 'BUILDING', 'AWAITING_DEPLOY', 'DEPLOYING', 'UNKNOWN'].map(
      (status) => [status, 'pending'],
    ),
    ['DEPLOYED', 'deployed'],
    ...['CREATE_FAILED', 'BUILD_FAILED', 'DEPLOY_FAILED', 'SKIPPED', 'INTERRUPTED'].map((status) => [
      status,
      'failed',
    ]),
    ['A_STATUS_OF_NEXT_YEAR', 'pending'],
    ['deployed', 'pending'],
    ['', 'pending'],
  ])('%s is %s', (status, phase) => {
    expect(revisionPhase(status)).toBe(phase);
  });
});

/** Two revisions of one artifact, of which the first has two copies. */
const KNOWN = [
  { ...verified('a'), artifact: 'image:x' },
  { ...verified('b'), artifact: 'image:x' },
  { ...verified('a2'), copyOf: 'a', artifact: 'image:x' },
  { ...verified('a3'), copyOf: 'a', artifact: 'image:x' },
];

describe('a copy', () => {
  it('is the same revision as its original and as other copies, whatever they contain', () => {
    expect(originalOf(KNOWN, 'a3')).toBe('a');
    expect(originalOf(KNOWN, 'unknown')).toBe('unknown');
    expect(isSameRevision(KNOWN, 'a2', 'a3')).toBe(true);
    expect(isSameRevision(KNOWN, 'a', 'b')).toBe(false);
    expect(withCopies(KNOWN, 'a2')).toEqual(['a2', 'a', 'a3']);
    expect(withCopies(KNOWN, 'unknown')).toEqual(['unknown']);
  });

  it('is left together with its original', () => {
    const left = leaveRevision(KNOWN, 'a3', NOW).filter(({ quarantined }) => quarantined === true);
    expect(left.map(({ revisionId }) => revisionId)).toEqual(['a', 'a2', 'a3']);
  });
});

describe('a named revision', () => {
  it.each([
    ['serves', 'b', undefined, 'b', undefined],
    ['serves as a copy', 'a', undefined, 'a3', undefined],
    ['is missed where another serves', 'a', undefined, 'b', 'a'],
    ['is not missed where the target has chosen it', 'a', 'b', 'c', undefined],
    ['is not missed where none was named', undefined, undefined, 'b', undefined],
  ])('%s', (_, to, from, serving, missed) => {
    const request = { ...rollback('id', to), from };
    expect(missedRevision(request, KNOWN, serving)).toBe(missed);
  });
});

describe('a copy that another tool made', () => {
  const known = [{ ...verified('a'), upload: 'up/a', release: 'release-1' }, verified('b')];
  const deployment = { activeRevisionId: 'x', latestRevisionId: 'x', latestTarballPath: 'up/a' };

  it('belongs to the revision whose upload it carries', () => {
    expect(copyMadeElsewhere(known, deployment)).toEqual([{ ...known[0], revisionId: 'x', copyOf: 'a' }]);
  });

  it.each([
    ['it is known', { activeRevisionId: 'b', latestRevisionId: 'b' }],
    ['another one is the latest', { latestRevisionId: 'y' }],
    ['it carries another upload', { latestTarballPath: 'up/x' }],
    ['it carries none', { latestTarballPath: null }],
    ['none serves', { activeRevisionId: null }],
  ])('is not assumed if %s', (_, changes) => {
    expect(copyMadeElsewhere(known, { ...deployment, ...changes })).toEqual([]);
  });
});

describe('a revision is left on the control plane', () => {
  it.each([
    ['if an older one serves', 'b', 'a', ['b']],
    ['if a copy of an older one serves', 'b', 'a2', ['b']],
    ['not if it serves', 'b', 'b', []],
    ['not if its copy serves', 'a', 'a3', []],
    ['not if a newer one serves', 'a', 'b', []],
    ['not if an unknown one serves', 'b', 'x', []],
    ['not if none serves', 'b', null, []],
  ])('%s', (_, expected, serving, left) => {
    expect(leftByHand(KNOWN, expected, serving, NOW).map(({ revisionId }) => revisionId)).toEqual(left);
  });

  it('are not left for one that replaced them, even if that one was noted first', () => {
    const known = [{ ...verified('by-hand'), replaced: 'a' }, ...KNOWN];
    expect(leftByHand(known, 'a', 'by-hand', NOW)).toEqual([]);
    expect(leftByHand(known, 'b', 'by-hand', NOW)).not.toEqual([]);
  });
});
