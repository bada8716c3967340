import { expect, it } from 'vitest';

import type { Viewer } from '../../../src/dashboard/access/session.ts';
import { type TargetSnapshot, unreadTarget } from '../../../src/dashboard/live/targetWatch.ts';
import { renderText } from '../../../src/dashboard/page/layout.tsx';
import { targetFragments } from '../../../src/dashboard/targets/targetPage.tsx';
import { TargetCard, Targets } from '../../../src/dashboard/targets/targetRoutes.tsx';
import { headlineOf } from '../../../src/dashboard/targets/targetTexts.ts';
import { EMPTY_TARGET, type TargetState } from '../../../src/domain/target/targetState.ts';
import { recordResult } from '../../../src/domain/target/targetResult.ts';
import type { KeptTarget } from '../../../src/temporal/history/keptTarget.ts';
import { runningStep, sampleProgress } from '../../cli/ui/sampleProgress.ts';
import { past, result, verified } from '../../domain/target/targets.ts';

const NOW = Date.parse('2026-11-25T12:00:00.000Z');
const GRACE: Viewer = { name: 'grace', proved: true, role: 'view' };
const ADA = { who: 'ada', from: 'cli', reason: 'it <b>answers</b> nonsense' };
const RUNNING = {
  releaseId: 'release-3',
  kind: 'release',
  requestKey: 'k',
  workflowId: 'target:x/release-3',
  to: null,
} as const;

function target(state: Partial<TargetState>, rest: Partial<TargetSnapshot> = {}): TargetSnapshot {
  const view = { state: { ...EMPTY_TARGET, ...state }, running: null };
  return { ...unreadTarget({ workflowId: 'target:x', name: 'production' }), view, ...rest };
}

function card(snapshot: TargetSnapshot): string {
  return renderText(<TargetCard snapshot={snapshot} viewer={GRACE} now={NOW} />);
}

it('of no target: the page does not claim that none has ever released, because all may have been terminated', () => {
  const page = renderText(<Targets promotions={[]} snapshots={[]} viewer={GRACE} now={NOW} />);
  expect(page).toContain('No target runs');
  expect(page).not.toContain('has taken a release');
});

it('comes after the cards of targets with smaller numbers in their names', () => {
  const snapshots = ['team-10', 'team-2', 'Team-1'].map((name) => ({
    ...target({}),
    workflowId: name,
    name,
  }));
  const page = renderText(<Targets promotions={[]} snapshots={snapshots} viewer={GRACE} now={NOW} />);
  expect(page.match(/(?<=>)team-\d+/giu)).toEqual(['Team-1', 'team-2', 'team-10']);
});

it('is only counted in the summary if many others wait, unless a person is needed', () => {
  const since = '2026-11-25T11:00:00.000Z';
  const summary = (state: Partial<TargetState>) => {
    const snapshots = Array.from({ length: 16 }, (_, index) => ({
      ...target(state),
      workflowId: `${index}`,
    }));
    const page = renderText(<Targets promotions={[]} snapshots={snapshots} viewer={GRACE} now={NOW} />);
    return /<p id="summary".*?<\/p>/u.exec(page)?.[0] ?? '';
  };
  const held = summary({ hold: { since, by: ADA } });
  expect(held.match(/<a /gu)).toHaveLength(6);
  expect(held).toContain(' on hold · 10 more below</p>');
  const urgent = summary({ needsPerson: { releaseId: 'release-2', since, instructions: 'Do this.' } });
  expect(urgent.match(/<a /gu)).toHaveLength(16);
});

it('is red only if a person is needed', () => {
  const since = '2026-11-25T11:00:00.000Z';
  const progress = sampleProgress([runningStep({ step: 'check', subject: 'greets' })]);
  const waits = (what: 'approval' | 'resume' | 'decision' | 'freeze') =>
    target(
      {},
      {
        view: { state: EMPTY_TARGET, running: RUNNING },
        progress: { ...progress, waiting: { for: what, since, until: since, note: 'x' } },
      },
    );
  const tones = (snapshot: TargetSnapshot) => headlineOf(snapshot, NOW).tone;
  const needsPerson = { releaseId: 'release-2', since, instructions: 'Do this.' };
  expect(tones(target({ needsPerson }))).toBe('bad');
  expect(tones(waits('decision'))).toBe('bad');
  for (const what of ['approval', 'resume', 'freeze'] as const) expect(tones(waits(what))).toBe('warn');
  expect(tones(target({ hold: { since, by: ADA } }))).toBe('warn');
  expect(tones(target({ activeRevisionId: 'r' }))).toBe('good');
  expect(tones(target({ activeRevisionId: null }))).toBe('quiet');
  expect(card(target({ needsPerson }))).toContain('Do this.');
});

it('has the headline “serving” only if its deployment serves a revision, and “never released” only before the first', () => {
  const deployment = { deploymentId: 'd', activeRevisionId: null, latestRevisionId: null };
  expect(headlineOf(target({ activeRevisionId: 'r' }, { deployment }), NOW)).toEqual({
    tone: 'warn',
    words: 'nothing serves',
  });
  expect(headlineOf(target({}), NOW).words).toBe('never released');
  const removed = target({ history: recordResult(EMPTY_TARGET, result('release-1'), 0).history });
  expect(headlineOf(removed, NOW)).toEqual({ tone: 'quiet', words: 'nothing serves' });
});

it('has one serving revision in both the part “Serves” and the table of revisions', () => {
  const deployment = { deploymentId: 'd', activeRevisionId: 'other', latestRevisionId: null };
  const state = { activeRevisionId: 'mine', known: [verified('mine'), verified('other')] };
  const { past } = targetFragments({
    snapshot: target(state, { deployment }),
    viewer: GRACE,
    now: NOW,
    hooksOfFile: [],
    temporalPage: null,
  });
  const rows = renderText(past!).split('<tr>');
  expect(rows.filter((row) => row.includes('serves</span>'))).toEqual([
    expect.stringContaining('title="other"'),
  ]);
});

it('shows hold and quarantine with who and why, as text', () => {
  const since = '2026-11-25T11:00:00.000Z';
  const html = card(
    target({ hold: { since, by: ADA }, quarantined: [{ artifact: 'sha256:ab', since, by: ADA }] }),
  );
  expect(html).toContain('On hold');
  expect(html).toContain('In quarantine');
  expect(html).toContain('it &lt;b&gt;answers&lt;/b&gt; nonsense');
  expect(html).not.toContain('<b>');
});

it('shows who can approve', () => {
  const progress = sampleProgress([]);
  const since = '2026-11-25T11:00:00.000Z';
  const waiting = {
    for: 'approval',
    since,
    until: since,
    note: 'one approval is needed',
    approvers: ['grace'],
  } as const;
  const html = card(
    target({}, { view: { state: EMPTY_TARGET, running: RUNNING }, progress: { ...progress, waiting } }),
  );
  expect(html).toContain('grace may approve');
  expect(html).toContain('by you');
});

it('keeps the target’s last state while no worker answers, and says since when', () => {
  const silence = { why: 'no worker polls the task queue', hint: 'slipway worker', since: NOW };
  const html = card(target({ activeRevisionId: '0d9bd5d7-0000-4000-8000-000000000000' }, { silence }));
  expect(html).toContain('does not answer');
  expect(html).toContain('since 12:00:00 UTC');
  expect(html).toContain('0d9bd5d7');
});

it('shows Temporal’s data of a target that has never answered, and the command that starts a worker', () => {
  const silence = { why: 'no worker polls "slipway"', hint: 'start one: slipway worker', since: NOW };
  const snapshot = { ...unreadTarget({ workflowId: 'target:x', name: 'production' }), silence };
  expect(card(snapshot)).toContain('start one: slipway worker');
  expect(card(snapshot)).not.toContain('last known state');
  const ended = past('release-2', { endedAt: '2026-11-25T11:00:00.000Z', requestedBy: ADA });
  const kept: KeptTarget = {
    servingRevisionId: '0f3c9a52-33ce-4b7a-8baa-5b0a52d5eb08',
    running: null,
    ended: [ended],
    messages: [{ workflowId: 'target:x', message: 'rollback', at: '', who: 'ada', reason: 'wrong answers' }],
  };
  const html = card({ ...snapshot, kept });
  expect(html).toContain('0f3c9a52');
  expect(html).toContain('release-2</a>');
  expect(html).toContain('Waits for a worker: rollback by ada: wrong answers');
  expect(html).toContain('<code>slipway worker</code>');
});
