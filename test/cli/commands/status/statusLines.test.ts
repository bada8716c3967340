import { describe, expect, it } from 'vitest';

import { statusLines } from '../../../../src/cli/commands/status/statusLines.ts';
import type { TargetStatus } from '../../../../src/cli/commands/status/targetStatus.ts';
import { styleOf } from '../../../../src/cli/ui/text.ts';
import { exactText } from '../../../../src/domain/scalars.ts';
import type { ReleaseRequest } from '../../../../src/domain/release/release.ts';
import {
  EMPTY_TARGET,
  type HistoryRow,
  type TargetState,
} from '../../../../src/domain/target/targetState.ts';
import type { DeploymentSeen } from '../../../../src/inspection/deployment/deploymentAccess.ts';
import { runningStep, sampleProgress } from '../../ui/sampleProgress.ts';

const NOW = Date.parse('2026-11-21T12:10:00.000Z');
const SCREEN = { now: NOW, style: styleOf(false), columns: Infinity };
const AN_HOUR_AGO = '2026-11-21T11:10:00.000Z';
const REQUEST = {
  requestKey: 'k2',
  commit: 'fedcba9876543210',
  artifact: { kind: 'tarball', digest: `sha256:${'a'.repeat(64)}`, sizeBytes: 1, store: 'file:///store' },
} as unknown as ReleaseRequest;
const RUNNING = {
  releaseId: 'release-2',
  kind: 'release',
  requestKey: 'k2',
  workflowId: 'w2',
  to: null,
} as const;
const nothing: TargetStatus = {
  target: 'production',
  workflowId: 'w',
  workflowUrl: null,
  dashboardUrl: null,
  view: undefined,
  progress: undefined,
  localHold: undefined,
  deployment: seen('revision-1'),
  measured: null,
  hooks: [],
  call: null,
  buildLog: [],
};

function row(change: Partial<HistoryRow>): HistoryRow {
  return {
    releaseId: 'release-1',
    kind: 'release',
    requestKey: null,
    artifact: null,
    commit: null,
    outcome: 'released',
    reason: 'it serves',
    revisionId: null,
    servingRevisionId: null,
    requestedBy: { who: 'ada', from: 'cli' },
    endedAt: '2026-11-21T12:08:00.000Z',
    rollbackRequestIds: [],
    ...change,
  };
}

function seen(activeRevisionId: string): DeploymentSeen {
  return { deploymentId: 'd', activeRevisionId, latestRevisionId: activeRevisionId };
}

function lines(status: Partial<TargetStatus>, last = 5): string[] {
  return statusLines({ ...nothing, ...status }, last, SCREEN).map((line) => line.trim());
}

describe('the status of a target', () => {
  it('says that it has never taken a release', () => {
    expect(lines({})).toEqual(['production', 'has never taken a release']);
  });

  it('shows a hold of this machine even if Temporal knows of none', () => {
    const localHold = {
      target: 'production',
      since: '2026-11-21T03:00:00.000Z',
      by: { who: 'ada', from: 'cli', reason: 'it lies' },
      to: 'r',
    };
    expect(lines({ localHold })[1]).toContain('set by ada: it lies (by break-glass, on this machine)');
  });

  it('says that a person is needed, with each line of advice', () => {
    const needsPerson = {
      releaseId: 'release-7',
      since: '2026-11-21T12:08:00.000Z',
      instructions: 'Do this.\n1. look',
    };
    const view = { state: { ...EMPTY_TARGET, needsPerson }, running: null };
    expect(lines({ view }).slice(1, 4)).toEqual([
      '✖ NEEDS A PERSON, since release-7 ended 2m00s ago',
      'Do this.',
      '1. look',
    ]);
  });

  it('shows which events wait for approval, with the command, and which hooks do not answer', () => {
    const decision = { rule: 'worse', target: 'production', targetId: 'w', do: 'rollback' } as const;
    const asked = {
      ...decision,
      state: 'needs_approval',
      note: 'a person must approve',
      until: AN_HOUR_AGO,
    } as const;
    const done = { ...decision, rule: 'other', state: 'not_met', note: 'too old' } as const;
    const row = {
      id: 'e1',
      title: 'AnswersWorse',
      status: 'firing',
      at: AN_HOUR_AGO,
      deliveries: 1,
    } as const;
    const hook = { past: {}, counts: {} };
    const hooks = [
      { ...hook, name: 'alerts', workflowId: 'hook:alerts:1', rows: [{ ...row, decisions: [asked, done] }] },
      { ...hook, name: 'prompts', workflowId: 'hook:prompts:1', rows: null },
    ];
    const shown = lines({ view: { state: EMPTY_TARGET, running: null }, hooks });
    expect(shown.slice(2, 5)).toEqual([
      'approve  to roll back production, after AnswersWorse (hook alerts)',
      `a person must approve, until ${exactText(AN_HOUR_AGO)}: slipway hooks approve e1`,
      'hook     prompts does not answer',
    ]);
  });

  it('says until when what serves is guarded and what was measured last, or how the guard ended', () => {
    const guard = {
      workflowId: 'g',
      releaseId: 'release-7',
      revisionId: 'r',
      until: '2026-11-21T13:00:00.000Z',
    };
    const measured = { says: 'errors 0.01', since: '2026-11-21T12:09:40.000Z', until: null };
    const shown = (state: Partial<TargetState>): string =>
      lines({ view: { state: { ...EMPTY_TARGET, ...state }, running: null }, measured }).join('\n');
    expect(shown({ guard })).toContain(
      'guard    release-7 is guarded until 2026-11-21 13:00:00Z\nfor 20.0s: errors 0.01',
    );
    const breach = { metric: 'errors', kind: 'above_max', value: 0.12, limit: 0.05 } as const;
    const ended = { at: guard.until, verdict: 'worse', note: '', breach } as const;
    expect(shown({ guard: { ...guard, ended } })).toContain(
      'guard    release-7: the guard asked for a rollback, errors 0.12 > 0.05',
    );
    for (const verdict of ['preempted', 'canceled'] as const) {
      const stopped = { ...guard, ended: { at: guard.until, verdict, note: 'why' } };
      expect(shown({ guard: stopped })).not.toContain('guard');
      expect(shown({ guard: stopped, activeRevisionId: 'r' })).toContain(
        'guard    release-7: the guard ended early, why',
      );
    }
  });

  it('says that what serves is in quarantine, and how to end it', () => {
    const left = { revisionId: 'revision-1', verified: true, quarantined: true, at: AN_HOUR_AGO };
    const state = {
      ...EMPTY_TARGET,
      activeRevisionId: 'revision-1',
      known: [left],
    } as unknown as TargetState;
    expect(lines({ view: { state, running: null } })).toContain(
      'quarantine what serves: nothing restores or promotes it until "slipway unquarantine production revision-1"',
    );
    const replaced = lines({ view: { state, running: null }, deployment: seen('revision-2') });
    expect(replaced.join()).not.toContain('quarantine what serves');
  });

  it('reports a manual change of the deployment, and the quarantine', () => {
    const drift = { at: 'noon', expected: 'r1', found: 'r2' };
    const quarantined = [
      { artifact: 'sha256:aa', since: 'noon', by: { who: 'ada', from: 'cli', reason: 'leaks' } },
    ];
    const text = lines({ view: { state: { ...EMPTY_TARGET, drift, quarantined }, running: null } });
    expect(text).toContain('changed by hand: revision r2 served at noon instead of revision r1');
    expect(text).toContain('quarantine sha256:aa, by ada: leaks');
  });

  it('reports extra revisions, and late changes that it watches for', () => {
    const until = '2026-11-21T13:00:00.000Z';
    const watch = { deploymentId: 'd', restoreTo: 'r1', until };
    const state = {
      ...EMPTY_TARGET,
      extras: [{ releaseId: 'release-1', revisionId: 'r3', at: 'noon', landedLate: true }],
      late: [{ ...watch, revisionId: 'r3' }],
      lateUploads: [
        { ...watch, releaseId: 'release-1', objectPath: 'uploads/1', revisionId: 'r2', known: ['r2', 'r3'] },
        { ...watch, releaseId: 'release-2', objectPath: 'uploads/2', revisionId: null, known: [] },
      ],
    };
    expect(lines({ view: { state, running: null } })).toEqual(
      expect.arrayContaining([
        'extra revision r3: a PATCH of release-1 landed after it had ended; noticed at noon',
        `watches  revision r3, abandoned, which may become active until ${exactText(until)}`,
        `watches  a PATCH of release-1 without an answer, which may make a second revision until ${exactText(until)}`,
        `watches  a PATCH of release-2 without an answer, which may make a revision until ${exactText(until)}`,
      ]),
    );
  });

  it('does not list what a terminated target watched for until a time that has passed', () => {
    const watch = { deploymentId: 'd', restoreTo: 'r1', until: AN_HOUR_AGO };
    const state = {
      ...EMPTY_TARGET,
      late: [{ ...watch, revisionId: 'r3' }],
      lateUploads: [{ ...watch, releaseId: 'release-1', objectPath: 'a', revisionId: null, known: [] }],
    };
    expect(lines({ view: { state, running: null } }).join('\n')).not.toContain('watches');
  });

  it('shows what a release waits for, and the remaining time', () => {
    const waiting = {
      for: 'approval',
      since: '2026-11-21T12:00:00.000Z',
      until: '2026-11-21T12:15:00.000Z',
      note: 'one approval is needed',
    } as const;
    const progress = { ...sampleProgress([]), waiting };
    const text = lines({ view: { state: EMPTY_TARGET, running: null }, progress });
    expect(text.join('\n')).toMatch(
      /waits {4}one approval is needed; since 2026-11-21 12:00:00Z, until 2026-11-21 12:15:00Z \(5m00s left\); anyone except the person who asked for it may approve; slipway approve production or slipway reject production/,
    );
  });

  it('shows what break-glass restored, which the target does not know', () => {
    const localHold = {
      target: 'production',
      since: '2026-11-21T03:00:00.000Z',
      by: { who: 'ada', from: 'cli' },
      to: 'revision-0',
    };
    const view = { state: { ...EMPTY_TARGET, activeRevisionId: 'revision-1' }, running: null };
    const deployment = seen('revision-0');
    expect(lines({ localHold, view, deployment }).slice(2, 4)).toEqual([
      'serves   revision revision-0, according to the control plane',
      'known    revision revision-1, as the target last knew',
    ]);
    expect(lines({ localHold, view, deployment: 'no key' })).toEqual(
      expect.arrayContaining([
        'serves   revision revision-0, restored by break-glass on this machine',
        'known    revision revision-1, as the target last knew',
        'what serves is not known: no key',
      ]),
    );
  });

  it('lists the failed notices, and why', () => {
    const at = '2026-11-21T12:09:00.000Z';
    const undelivered = [{ at, receiver: 'ops', event: 'released', name: 'release-1', reason: 'it is away' }];
    const view = { state: { ...EMPTY_TARGET, undelivered }, running: null };
    expect(lines({ view })).toContain(
      `"ops" could not be notified of released of release-1; Slipway gave up at 2026-11-21 12:09:00Z: it is away`,
    );
  });

  it('names the serving revision of the control plane, and beside it the target’s last knowledge', () => {
    const known = [
      { revisionId: 'r1', verified: true, release: 'release-1', commit: '0123456789abcdef', at: AN_HOUR_AGO },
    ];
    const state = { ...EMPTY_TARGET, known, activeRevisionId: 'r1', lastRequest: REQUEST };
    const progress = { ...sampleProgress([]), releaseId: 'release-2', revisionId: 'r2' };
    const view = { state, running: RUNNING };
    expect(lines({ view, progress, deployment: seen('r2') }).slice(1, 3)).toEqual([
      'serves   revision r2 (release-2, commit fedcba987654, sha256:aaaaaaaaaaaa), not verified yet, according to the control plane',
      'known    revision r1 (release-1, commit 0123456789ab), verified 1h00m ago, as the target last knew',
    ]);
    expect(lines({ view, deployment: seen('r1') })[1]).toBe(
      'serves   revision r1 (release-1, commit 0123456789ab), verified 1h00m ago, according to the control plane',
    );
  });

  it('marks the serving revision as the target’s last knowledge if the control plane was not asked', () => {
    const state = { ...EMPTY_TARGET, activeRevisionId: 'r1' };
    expect(lines({ view: { state, running: null }, deployment: 'no key' }).slice(1, 3)).toEqual([
      'serves   revision r1, as the target last knew',
      'what serves is not known: no key',
    ]);
  });

  it('says once that what serves is not known if the target does not know it either', () => {
    const told = lines({ view: { state: EMPTY_TARGET, running: null }, deployment: 'no key' });
    expect(told.filter((line) => line.includes('not known'))).toEqual(['serves   not known: no key']);
  });

  it('lists ignored messages, and why', () => {
    const ignored = [{ at: '2026-11-21T12:09:00.000Z', message: 'rollback', reason: '"to" is not text' }];
    const view = { state: { ...EMPTY_TARGET, ignored }, running: null };
    expect(lines({ view })).toContain('ignored  1 message; the last, 1m00s ago: rollback, "to" is not text');
  });

  it('shows why a person requested what ended', () => {
    const requestedBy = { who: 'ada', from: 'cli', reason: 'it lies' };
    const view = { state: { ...EMPTY_TARGET, history: [row({ requestedBy })] }, running: null };
    expect(lines({ view }).at(-1)).toBe(
      '✔ release-1: released 2m00s ago, by ada (claimed) (it lies): it serves',
    );
  });

  it('shows what serves, runs and waits', () => {
    const request = { requestedBy: { who: 'bob', from: 'cli' } } as ReleaseRequest;
    const said = lines({
      view: {
        state: {
          ...EMPTY_TARGET,
          activeRevisionId: 'revision-1',
          hold: { since: '2026-11-21T12:00:00.000Z', by: { who: 'eve', from: 'cli' } },
          queue: [{ releaseId: 'release-3', request, queuedAt: '2026-11-21T12:09:30.000Z' }],
          rollbacks: [{ requestId: 'q', to: 'revision-0', requestedBy: { who: 'ada', from: 'cli' } }],
        },
        running: { releaseId: 'release-2', kind: 'release', requestKey: null, workflowId: 'w2', to: null },
      },
      progress: sampleProgress([runningStep({ step: 'deployed' })]),
      workflowUrl: 'http://ui/w',
      dashboardUrl: 'https://page/t',
    });
    expect(said).toEqual([
      'production',
      'serves   revision revision-1, according to the control plane',
      'on hold since 2026-11-21 12:00:00Z, set by eve: no reason given',
      'running  release-2',
      expect.stringMatching(/^… deployed +10m00s$/) as string,
      'waiting  rollback to revision-0, by ada (claimed)',
      'waiting  release-3 by bob (claimed), for 30.0s',
      'page     https://page/t',
      'Temporal http://ui/w',
    ]);
  });

  it('shows a running rollback once, not among what waits', () => {
    const rollback = (to: string) => ({
      requestId: to,
      to,
      requestedBy: { who: 'ada', from: 'cli' } as const,
    });
    const said = lines({
      view: {
        state: { ...EMPTY_TARGET, rollbacks: [rollback('revision-1'), rollback('revision-0')] },
        running: { releaseId: 'rollback-2', kind: 'rollback', requestKey: null, workflowId: 'w2', to: null },
      },
    });
    expect(said.filter((line) => /rollback/u.test(line))).toEqual([
      'running  rollback-2',
      'waiting  rollback to revision-0, by ada (claimed)',
    ]);
  });

  it('lists the last outcomes, newest first', () => {
    const history = [
      row({ releaseId: 'release-1', reason: 'long ago' }),
      row({ releaseId: 'release-2', outcome: 'rolled_back', reason: 'too slow' }),
      row({ releaseId: 'rollback-3', kind: 'rollback', outcome: 'rolled_back', reason: 'asked for' }),
    ];
    const said = lines({ view: { state: { ...EMPTY_TARGET, history }, running: null } }, 2);
    expect(said.slice(-3)).toEqual([
      'last',
      '✔ rollback-3: rolled back 2m00s ago, by ada (claimed): asked for',
      '✖ release-2: rolled back 2m00s ago, by ada (claimed): too slow',
    ]);
  });
});
