import { describe, expect, it } from 'vitest';

import { targetOffers } from '../../../src/dashboard/actions/offers.ts';
import { targetOrder } from '../../../src/dashboard/actions/targetOrders.ts';
import type { KnownRevision } from '../../../src/domain/release/release.ts';
import type { TargetState } from '../../../src/domain/target/targetState.ts';
import { ADA, NOW, request, runs, seasoned } from '../../domain/target/targets.ts';

function known(release: number, changes: Partial<KnownRevision> = {}): KnownRevision {
  return {
    revisionId: `${release}`.repeat(8),
    verified: true,
    release: `release-${release}`,
    commit: `c0ffee${release}`,
    artifact: `sha256:${`${release}`.repeat(64)}`,
    at: NOW,
    ...changes,
  };
}

const KNOWN = [known(1), known(2, { verified: false }), known(3), known(4)];
const SERVES = '4'.repeat(8);

function order(
  action: Parameters<typeof targetOrder>[1],
  changes: Partial<TargetState> = {},
  running = null,
) {
  const state = seasoned({ known: KNOWN, activeRevisionId: SERVES, ...changes });
  return targetOrder({ name: 'production', serves: SERVES, isRead: true, state, running }, action);
}

describe('a rollback', () => {
  it('offers the newest verified revision of an earlier release first, then each verified one with its content', () => {
    const { choices = [] } = order('rollback').choose ?? {};
    expect(choices.map(({ value }) => value)).toEqual(['newest', '11111111']);
    expect(choices[0]?.detail).toBe(
      'Will serve: revision 33333333 (release-3, commit c0ffee3, sha256:333333333333), verified 1 Jan 2026, 00:00 UTC.',
    );
    expect(choices[1]?.label).toBe('release-1, revision 11111111');
  });

  it('sends the serving revision that the person sees', () => {
    expect(order('rollback').carried).toEqual({ serving: SERVES });
  });

  it('marks a revision that a person rolled back from as restorable only by name', () => {
    const left = [known(1), known(3, { quarantined: true }), known(4)];
    const { choices = [] } = order('rollback', { known: left }).choose ?? {};
    expect(choices[0]?.detail).toContain('(release-1, ');
    expect(choices[1]?.detail).toContain('In quarantine: restored only by name.');
  });

  it('shows what it stops, what it rejects, and that it holds the target', () => {
    const queue = [{ releaseId: 'release-6', request: request('b'), queuedAt: NOW }];
    const state = seasoned({ known: KNOWN, queue });
    const { sentences } = targetOrder(
      { name: 'production', serves: SERVES, isRead: true, state, running: runs('release-5') },
      'rollback',
    );
    expect(sentences).toContain('release-5, which runs, is stopped.');
    expect(sentences).toContain('release-6, which waits, is rejected.');
    expect(sentences).toContain(
      'production is put on hold: it rejects releases until a person ends the hold.',
    );
  });
});

describe('a hold', () => {
  it('is offered without one; its end is offered with one', () => {
    expect(targetOffers(seasoned())).toEqual(['rollback', 'hold']);
    expect(targetOffers(seasoned({ hold: { since: NOW, by: ADA } }))).toEqual(['rollback', 'unhold']);
    expect(order('hold', { hold: { since: NOW, by: ADA } }).problem).toBe('the target is on hold already');
  });

  it('shows who set it and why, before it is ended', () => {
    expect(order('unhold', { hold: { since: NOW, by: ADA } }).sentences[0]).toBe(
      'On hold since 1 Jan 2026, 00:00 UTC, set by ada: a reason.',
    );
  });

  it('is ended only by a form that showed it', () => {
    expect(order('unhold', { hold: { since: NOW, by: ADA } }).answers).toBe(NOW);
    // The first of two presses has ended it.
    expect(order('unhold', {}).answers).toBeUndefined();
  });
});

describe('a quarantine', () => {
  it('is offered for each other artifact, newest first; the serving one is marked', () => {
    const quarantined = [{ artifact: KNOWN[2]?.artifact ?? '', since: NOW, by: ADA }];
    const { choices = [] } = order('quarantine', { quarantined }).choose ?? {};
    expect(choices.map(({ label }) => label)).toEqual([
      'sha256:444444444444',
      'sha256:222222222222',
      'sha256:111111111111',
    ]);
    expect(choices[0]?.detail).toBe('Of release-4, commit c0ffee4. It serves now.');
  });

  it('can be ended for an artifact in quarantine, and for one that a person rolled back from', () => {
    const quarantined = [{ artifact: KNOWN[0]?.artifact ?? '', since: NOW, by: ADA }];
    const left = [known(1), known(3, { quarantined: true })];
    const { choices = [] } = order('unquarantine', { quarantined, known: left }).choose ?? {};
    expect(choices.map(({ detail }) => detail)).toEqual([
      'In quarantine since 1 Jan 2026, 00:00 UTC, by ada: a reason. Of release-1, commit c0ffee1.',
      'A person rolled back from it. Of release-3, commit c0ffee3.',
    ]);
  });
});
