import { describe, expect, it } from 'vitest';

import {
  type InterventionKind,
  interventionProblem,
  type Standing,
  whatIsSkipped,
} from '../../src/domain/intervention.ts';

const STANDING: Standing = {
  phase: 'forward',
  paused: false,
  awaiting: null,
  undecided: null,
  ahead: ['greets', 'soak'],
  requestedBy: { who: 'ada', from: 'ci' },
  approval: null,
  approvedBy: [],
};
const BO = { who: 'bo', from: 'cli' };

function problem(
  kind: InterventionKind,
  standing: Partial<Standing>,
  said: { what?: string; by?: typeof BO } = {},
): string | undefined {
  return interventionProblem({ ...STANDING, ...standing }, { kind, by: BO, ...said });
}

describe('what may be said to a release', () => {
  it.each(['abort', 'pause', 'resume', 'approve', 'reject', 'retry', 'skip'] as const)(
    '%s may not be said once an earlier revision is put back, or it has ended',
    (kind) => {
      expect(problem(kind, { phase: 'restoring' })).toContain('never stopped halfway');
      expect(problem(kind, { phase: 'ended' })).toBe('the release has ended');
    },
  );

  it.each([
    ['abort', {}, true],
    ['abort', { paused: true }, true],
    ['pause', {}, true],
    ['pause', { paused: true }, false],
    ['resume', { paused: true }, true],
    ['resume', {}, false],
    ['approve', { awaiting: 'approval' }, true],
    ['approve', {}, false],
    ['approve', { awaiting: 'decision' }, false],
    ['reject', { awaiting: 'approval' }, true],
    ['reject', {}, false],
    ['retry', { awaiting: 'decision' }, true],
    ['retry', { awaiting: 'approval' }, false],
    ['retry', {}, false],
  ] as const)('%s at %j: %s', (kind, standing, allowed) => {
    expect(problem(kind, standing) === undefined).toBe(allowed);
  });

  it('nobody approves what they asked for themselves, nor twice, nor without being named', () => {
    const awaiting = {
      awaiting: 'approval',
      approval: { required: 2, approvers: ['ada', 'bo'], withinMs: 1 },
    } as const;
    expect(problem('approve', awaiting, { by: { who: 'ada', from: 'cli' } })).toContain('themselves');
    expect(problem('approve', { ...awaiting, approvedBy: ['bo'] })).toBe('bo has approved already');
    expect(problem('approve', awaiting, { by: { who: 'eve', from: 'cli' } })).toContain('ada, bo');
    expect(problem('approve', awaiting)).toBeUndefined();
  });

  it('a skip must name what lies ahead, where that is not clear', () => {
    expect(problem('skip', {})).toBe('say what is skipped, one of: greets, soak');
    expect(problem('skip', {}, { what: 'greets' })).toBeUndefined();
    expect(problem('skip', {}, { what: 'other' })).toContain('does not lie ahead');
    expect(problem('skip', { ahead: ['soak'] })).toBeUndefined();
    expect(problem('skip', { ahead: [] })).toContain('no check and no soak');
  });

  it.each([
    ['what is named', { undecided: 'greets', ahead: ['greets', 'soak'] }, 'soak', 'soak'],
    ['what waits for a decision', { undecided: 'greets', ahead: ['greets', 'soak'] }, undefined, 'greets'],
    ['the only thing ahead', { undecided: null, ahead: ['soak'] }, undefined, 'soak'],
    ['nothing, where it is not clear', { undecided: null, ahead: ['greets', 'soak'] }, undefined, undefined],
  ])('skips %s', (_, standing, named, skipped) => {
    expect(whatIsSkipped(standing, named)).toBe(skipped);
  });
});
