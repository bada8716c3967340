import { describe, expect, it } from 'vitest';

import {
  promotionLines,
  type PromotionStatus,
} from '../../../../src/cli/commands/promotion/promotionStatus.ts';
import { styleOf } from '../../../../src/cli/ui/text.ts';
import { exactText } from '../../../../src/domain/scalars.ts';
import type { PromotionResult } from '../../../../src/domain/promotion/promotion.ts';
import type { ExistingSchedule } from '../../../../src/temporal/client/schedule/schedules.ts';
import { runningStep, sampleProgress } from '../../ui/sampleProgress.ts';

const NOW = Date.parse('2026-11-21T12:10:00.000Z');
const JUDGEMENT = {
  verdict: 'inconclusive',
  reasons: ['latency: it may be worse by 20.0 %'],
  baselineRevisionId: 'one',
  candidateRevisionId: 'two',
  report: 'judgements/one/report.json',
  at: '2026-11-21T12:00:00.000Z',
} as const;
const NEXT = '2026-11-22T10:00:00.000Z';

function lines(status: Partial<PromotionStatus>): readonly string[] {
  const nothing = { name: 'up', from: 'canary', to: 'production', workflowId: 'w' };
  const links = { workflowUrl: null, dashboardUrl: null };
  const shown = { ...nothing, ...links, view: { state: 'none' }, ...status } as const;
  return promotionLines(shown, { now: NOW, style: styleOf(false), columns: Infinity }).map((line) =>
    line.trim(),
  );
}

function scheduled(changes: Partial<ExistingSchedule> = {}): ExistingSchedule {
  const schedule = { cron: '0 10 * * *', timeZone: 'UTC' };
  return { schedule, paused: false, note: null, next: [NEXT], ...changes } as unknown as ExistingSchedule;
}

describe('the status of a promotion', () => {
  it('says that it has never run, and when its next time is', () => {
    expect(lines({ schedule: scheduled() })).toEqual([
      'up: canary → production',
      'has never run, or Temporal no longer keeps it',
      `schedule 0 10 * * * (UTC); next: ${exactText(NEXT)}`,
    ]);
  });

  it('links to the dashboard before Temporal', () => {
    const workflowUrl = 'http://ui/w';
    expect(lines({ dashboardUrl: 'https://page/p', workflowUrl }).slice(-2)).toEqual([
      'page     https://page/p',
      'Temporal http://ui/w',
    ]);
  });

  it('shows who paused its schedule, and why', () => {
    expect(lines({ schedule: scheduled({ paused: true, note: 'bo: not yet' }) }).slice(2)).toEqual([
      'schedule 0 10 * * * (UTC)',
      'paused: bo: not yet',
    ]);
  });

  it('shows each step of a running one, what it waits for, and the judge’s result', () => {
    const waiting = {
      for: 'decision',
      since: '2026-11-21T12:00:00.000Z',
      until: '2026-11-21T13:10:00.000Z',
      note: '"retry" judges again',
    } as const;
    const running = [runningStep({ step: 'judge' })];
    const progress = { ...sampleProgress(running), waiting, judgement: JUDGEMENT };
    const shown = lines({ view: { state: 'running', progress } });
    expect(shown[1]).toBe(`running  ${progress.phase}`);
    expect(shown).toContain(
      'waits    "retry" judges again; since 2026-11-21 12:00:00Z, until 2026-11-21 13:10:00Z (1h00m left); slipway retry --promotion up or slipway abort --promotion up',
    );
    expect(shown.at(-1)).toBe(
      'judged   inconclusive: latency: it may be worse by 20.0 % (report: judgements/one/report.json)',
    );
    expect(lines({ view: { state: 'running', progress: undefined } })[1]).toContain('no worker');
  });

  it('shows the outcome of the last one, and the judge’s result', () => {
    const result = {
      outcome: 'failed',
      reason: 'too slow',
      nothingToDo: false,
      endedAt: '2026-11-21T12:08:00.000Z',
      requestedBy: { who: 'ada', from: 'cli' },
      judgement: JUDGEMENT,
    } as unknown as PromotionResult;
    const [, last, judged] = lines({ view: { state: 'ended', result } });
    expect(last).toMatch(/^last {5}\S+ failed.* 2m00s ago, by ada \(claimed\): too slow$/);
    expect(judged).toContain('judged   inconclusive');
    const nothing = { ...result, outcome: 'released', nothingToDo: true, judgement: null } as const;
    expect(lines({ view: { state: 'ended', result: nothing } })[1]).toContain('nothing to do');
  });

  it('reports a workflow that was ended from outside', () => {
    expect(lines({ view: { state: 'stopped', status: 'terminated' } })[1]).toContain('is terminated');
  });
});
