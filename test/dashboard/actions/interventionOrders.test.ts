import { expect, it } from 'vitest';

import { interventionOrder, UNASKED } from '../../../src/dashboard/actions/interventionOrders.ts';
import { interventionOffers, problemOf } from '../../../src/dashboard/actions/offers.ts';
import type { InterventionKind } from '../../../src/domain/intervention/intervention.ts';
import { standingOf } from '../../../src/domain/intervention/standing.ts';
import { type Progress, startingProgress } from '../../../src/domain/release/release.ts';
import { NOW, request } from '../../domain/target/targets.ts';

const PROMOTE = { step: 'promote', restoring: false, startedAt: NOW, status: 'running' } as const;

function orderOf(kind: InterventionKind, of: 'release' | 'promotion', progress: Progress) {
  const called = of === 'promotion' ? of : undefined;
  const standing = standingOf(progress, { ...request('a'), called });
  return interventionOrder({ name: 'it', progress, standing, serving: [] }, kind, {
    name: 'bo',
    proved: false,
  });
}

function sentence(kind: 'abort' | 'approve', of: 'release' | 'promotion', progress: Progress): string {
  return orderOf(kind, of, progress).sentences.at(-1) ?? '';
}

function progress(kind: 'release' | 'promotion', changes: Partial<Progress> = {}): Progress {
  return { ...startingProgress({ releaseId: 'x', kind, startedAt: NOW }), ...changes };
}

it('an abort says that something is undone only if something was, or may have been, changed', () => {
  const undone = 'Its change is undone: the earlier revision serves again.';
  expect(sentence('abort', 'release', progress('release'))).toContain('created no revision yet');
  expect(sentence('abort', 'release', progress('release', { revisionId: 'R' }))).toBe(undone);
  // The revision of its candidate, which it soaks.
  const soaks = progress('promotion', { revisionId: 'C' });
  expect(sentence('abort', 'promotion', soaks)).toContain('released nothing yet');
  expect(sentence('abort', 'promotion', { ...soaks, steps: [PROMOTE] })).toBe(undone);
  for (const of of ['release', 'promotion'] as const)
    expect(sentence('abort', of, UNASKED)).toContain('If it has changed anything');
});

it('an approval says that a paused release does not continue yet', () => {
  const pause = { id: 'p', kind: 'pause', by: { who: 'ada', from: 'cli' }, at: NOW, taken: true, note: '' };
  const interventions = [pause] as Progress['interventions'];
  expect(sentence('approve', 'release', progress('release'))).toContain('continues immediately');
  expect(sentence('approve', 'release', progress('release', { interventions }))).toContain('resumes it');
});

it('an approval that requires a proof is offered to people who can prove that they are others', () => {
  const waiting = { for: 'approval', since: NOW, until: NOW, note: '' } as const;
  const approval = { required: 1, withinMs: 1, identity: 'oidc' } as const;
  const standing = standingOf(progress('release', { waiting }), request('a', { approval }));
  expect(problemOf(standing, 'approve', { name: 'bo', proved: true })).toBeUndefined();
  expect(problemOf(standing, 'approve', { name: 'bo', proved: false })).toContain('requires proof');
  expect(problemOf(standing, 'approve', { name: 'ada', proved: true })).toContain('asked for it');
  // The worker has proved that ada@example.com asked under the name ada.
  const asked = { who: 'ada@example.com', from: 'cli' };
  const proved = standingOf(progress('release', { waiting, requestedBy: asked }), request('a', { approval }));
  expect(problemOf(proved, 'approve', { name: asked.who, proved: true })).toContain('asked for it');
});

it('an answer is for one question, and the end of a pause for one pause', () => {
  const waiting = (what: 'approval' | 'decision', since: string) =>
    ({ for: what, since, until: NOW, note: '' }) as const;
  const LATER = '2026-01-02T00:00:00.000Z';
  const answers = (kind: InterventionKind, changes: Partial<Progress>) =>
    orderOf(kind, 'release', progress('release', changes)).answers;
  expect(answers('retry', { waiting: waiting('decision', NOW) })).toBe(NOW);
  expect(answers('skip', { waiting: waiting('decision', LATER) })).toBe(LATER);
  expect(answers('approve', { waiting: waiting('approval', NOW) })).toBe(NOW);
  // The first of two presses has answered it, or another kind of question is open.
  expect(answers('retry', { waiting: null })).toBeUndefined();
  expect(answers('skip', { waiting: waiting('approval', NOW) })).toBeUndefined();
  const pause = (at: string) =>
    ({ id: at, kind: 'pause', by: { who: 'bo', from: 'cli' }, at, taken: true, note: '' }) as const;
  expect(answers('resume', { interventions: [pause(NOW), pause(LATER)] })).toBe(LATER);
});

it('the links to a waiting release begin with the answers to what it waits for', () => {
  const waiting = { for: 'approval', since: NOW, until: NOW, note: '' } as const;
  const approval = { required: 1, withinMs: 1 };
  const standing = standingOf(progress('release', { waiting }), { ...request('a'), approval });
  const offers = interventionOffers(standing, { name: 'bo', proved: false });
  expect(offers.slice(0, 2)).toEqual(['approve', 'reject']);
});
