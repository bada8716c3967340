import { describe, expect, it } from 'vitest';

import type { Actor } from '../../../src/domain/actor.ts';
import { jsonBytes } from '../../../src/domain/bounds.ts';
import {
  addIntervention,
  type InterventionKind,
  type InterventionRecord,
  interventionProblem,
  type Standing,
} from '../../../src/domain/intervention/intervention.ts';

const STANDING: Standing = {
  phase: 'forward',
  paused: false,
  awaiting: null,
  ahead: ['greets', 'soak'],
  requestedBy: { who: 'ada', from: 'ci' },
  approval: null,
  approvedBy: [],
};
const BO = { who: 'bo', from: 'cli' };

function problem(
  kind: InterventionKind,
  standing: Partial<Standing>,
  said: { what?: string; by?: Actor } = {},
): string | undefined {
  return interventionProblem({ ...STANDING, ...standing }, { kind, by: BO, ...said });
}

describe('a message to a release', () => {
  it.each(['abort', 'pause', 'resume', 'approve', 'reject', 'retry', 'skip'] as const)(
    '%s is rejected after the restore began, or after the end',
    (kind) => {
      expect(problem(kind, { phase: 'restoring' })).toBe(
        'the release is ending already; any change it made is undone, which is never stopped halfway',
      );
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

  it('no person approves their own request, or twice, or without a name', () => {
    const awaiting = {
      awaiting: 'approval',
      approval: { required: 2, approvers: ['ada', 'bo'], withinMs: 1 },
    } as const;
    expect(problem('approve', awaiting, { by: { who: 'ada', from: 'cli' } })).toContain('cannot approve it');
    expect(problem('approve', { ...awaiting, approvedBy: [{ who: 'bo', from: 'cli' }] })).toBe(
      'bo has approved already',
    );
    expect(problem('approve', awaiting, { by: { who: 'eve', from: 'cli' } })).toContain('ada, bo');
    expect(problem('approve', awaiting)).toBeUndefined();
  });

  describe('approvals with proof of identity', () => {
    const awaiting = {
      awaiting: 'approval',
      approval: { required: 1, withinMs: 1, identity: 'oidc' },
    } as const;
    const ISSUER = 'https://login.example.com';
    const person = (who: string, subject: string, email?: string, issuer = ISSUER) => ({
      who,
      from: 'cli',
      proved: { issuer, subject, ...(email === undefined ? {} : { email }) },
    });

    it('reject an unverified name; the proof is checked before the name', () => {
      const said = { kind: 'approve', by: BO } as const;
      expect(problem('approve', awaiting)).toContain('requires proof of identity');
      expect(
        interventionProblem({ ...STANDING, ...awaiting }, { ...said, identity: 'a record' }),
      ).toBeUndefined();
      expect(problem('approve', awaiting, { by: person('bo', '2') })).toBeUndefined();
    });

    it.each([
      ['by issuer and subject, under another name', person('bo', '1')],
      ['by e-mail address, at another issuer', person('bo', '9', 'Ada@example.com', 'https://other.example')],
      ['by name', person('ada', '9')],
    ])('identify the requester %s', (_how, by) => {
      const requestedBy = person('ada', '1', 'ada@example.com');
      expect(problem('approve', { ...awaiting, requestedBy }, { by })).toContain('cannot approve it');
      const approvedBy = [requestedBy];
      expect(
        problem('approve', { ...awaiting, requestedBy: { who: 'cy', from: 'ci' }, approvedBy }, { by }),
      ).toContain('has approved already');
    });

    it('treat the same subject of another issuer as another person', () => {
      const requestedBy = person('ada', '1');
      const by = person('bo', '1', undefined, 'https://other.example');
      expect(problem('approve', { ...awaiting, requestedBy }, { by })).toBeUndefined();
    });

    it('are not accepted from a job of the repository whose job released the artifact', () => {
      const proved = { issuer: ISSUER, subject: '1', job: true } as const;
      const by = { who: 'repo:acme/agent:environment:production', from: 'ci', proved };
      const madeBy = [{ who: 'repo:acme/agent:ref:refs/heads/main', from: 'ci', proved }];
      const approval = { required: 1, withinMs: 1, identity: 'oidc', approvers: [by.who] } as const;
      const said = problem('approve', { awaiting: 'approval', approval, madeBy }, { by });
      expect(said).toBe('the person who released the artifact cannot approve it');
    });

    it('accept a CI job only if it is named', () => {
      const by = {
        who: 'repo:acme/agent',
        from: 'ci',
        proved: { issuer: ISSUER, subject: '1', job: true },
      } as const;
      expect(problem('approve', awaiting, { by })).toContain('CI job');
      const approval = { ...awaiting.approval, approvers: ['repo:acme/agent'] };
      expect(problem('approve', { ...awaiting, approval }, { by })).toBeUndefined();
    });
  });

  it('a skip must name a check or step, even if there is only one', () => {
    const bare = 'a "skip" must name what it leaves out ("what"); ahead of the release: ';
    expect(problem('skip', {})).toBe(`${bare}greets, soak`);
    expect(problem('skip', { ahead: ['greets'] })).toBe(`${bare}greets`);
    expect(problem('skip', { ahead: ['greets'], awaiting: 'decision' })).toBe(`${bare}greets`);
    expect(problem('skip', {}, { what: 'greets' })).toBeUndefined();
    expect(problem('skip', {}, { what: 'other' })).toContain('is not ahead');
    expect(problem('skip', { ahead: [] })).toContain('no check and no soak');
  });

  it('a message that a promotion does not support is rejected with that reason', () => {
    const called = 'promotion';
    expect(problem('retry', { called })).toBe('no step of the promotion waits for a decision');
    expect(problem('approve', { called })).toBe('the promotion does not wait for approval');
    expect(problem('resume', { called })).toBe('the promotion is not paused');
    expect(problem('abort', { called, phase: 'ended' })).toBe('the promotion has ended');
    expect(problem('abort', { called, phase: 'restoring' })).toContain('the promotion is ending already');
    expect(problem('skip', { called, ahead: [] })).toContain('of the promotion lies ahead');
  });
});

describe('the recorded messages to a release', () => {
  const record = (taken: boolean, id: string): InterventionRecord => ({
    id,
    kind: 'abort',
    by: BO,
    at: '2026-01-01T00:00:00.000Z',
    taken,
    note: 'a note',
  });
  const said = (records: readonly InterventionRecord[]) =>
    records.reduce<readonly InterventionRecord[]>(addIntervention, []);

  it('are the newest, in order; ignored messages displace no accepted ones', () => {
    const flood = Array.from({ length: 1_000 }, (_, index) => record(false, `vain-${index}`));
    const kept = said([
      record(true, 'first'),
      ...flood.slice(0, 500),
      record(true, 'second'),
      ...flood.slice(500),
    ]);
    expect(kept.filter(({ taken }) => taken).map(({ id }) => id)).toEqual(['first', 'second']);
    expect(kept).toHaveLength(52);
    expect(kept.at(0)?.id).toBe('first');
    expect(kept.at(-1)?.id).toBe('vain-999');
  });

  it('stay small for messages of any length', () => {
    const kept = said(Array.from({ length: 200 }, (_, index) => record(index % 2 === 0, 'ü'.repeat(1_000))));
    expect(jsonBytes(kept)).toBeLessThan(201_000);
    expect(kept.length).toBeGreaterThan(50);
  });
});
