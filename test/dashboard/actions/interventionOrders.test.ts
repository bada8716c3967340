import { expect, it } from 'vitest';

import { interventionOrder, UNASKED } from '../../../src/dashboard/actions/interventionOrders.ts';
import { problemOf } from '../../../src/dashboard/actions/offers.ts';
import { standingOf } from '../../../src/domain/intervention/standing.ts';
import type { Progress } from '../../../src/domain/release/release.ts';
import { startingProgress } from '../../../src/domain/release/startingProgress.ts';
import { NOW, request } from '../../domain/target/targets.ts';

const PROMOTE = { step: 'promote', restoring: false, startedAt: NOW, status: 'running' } as const;

function sentence(kind: 'abort' | 'approve', of: 'release' | 'promotion', progress: Progress): string {
  const called = of === 'promotion' ? of : undefined;
  const standing = standingOf(progress, { ...request('a'), called });
  const order = interventionOrder({ name: 'it', progress, standing, serving: [] }, kind, {
    name: 'bo',
    proved: false,
  });
  return order.sentences.at(-1) ?? '';
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
});
