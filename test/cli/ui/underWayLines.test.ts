import { describe, expect, it } from 'vitest';

import { styleOf } from '../../../src/cli/ui/text.ts';
import { underWayLines, waitingLines } from '../../../src/cli/ui/underWayLines.ts';
import { runningStep, sampleIntervention, sampleProgress, sampleStep } from './sampleProgress.ts';

const NOW = Date.parse('2026-11-21T12:10:00.000Z');
const at = '2026-11-21T12:09:00.000Z';
const until = '2026-11-21T12:40:00.000Z';

describe('a wait', () => {
  it('has its start, its deadline, who may end it, and the command', () => {
    const waiting = {
      for: 'approval',
      since: at,
      until,
      note: 'one approval is needed',
      approvers: ['ada', 'bo'],
    } as const;
    expect(waitingLines({ ...sampleProgress([]), waiting }, 'production', NOW)).toEqual([
      'waits    one approval is needed; since 2026-11-21 12:09:00Z, until 2026-11-21 12:40:00Z (30m00s left); ada or bo may approve; slipway approve production or slipway reject production',
    ]);
  });

  it('shows a requested pause and a skipped check that are not reached yet', () => {
    const skip = sampleIntervention({
      kind: 'skip',
      what: 'greets',
      by: { who: 'ada', from: 'cli', reason: 'known' },
    });
    const refused = sampleIntervention({ kind: 'skip', what: 'asks', taken: false });
    const progress = { ...sampleProgress([]), interventions: [sampleIntervention({}), skip, refused] };
    expect(waitingLines(progress, 'production', NOW)).toEqual([
      'pauses   before its next step, asked by bo (claimed) at 2026-11-21 12:09:00Z; slipway resume production',
      'skips    greets, asked by ada (claimed) at 2026-11-21 12:09:00Z (known)',
    ]);
    const resumed = {
      ...progress,
      interventions: [sampleIntervention({}), sampleIntervention({ kind: 'resume' }), skip],
    };
    const reached = sampleStep({ step: 'check', subject: 'greets', status: 'skipped' });
    expect(waitingLines({ ...resumed, steps: [reached] }, 'production', NOW)).toEqual([]);
    const restoring = sampleStep({ step: 'redeploy', restoring: true });
    expect(waitingLines({ ...progress, steps: [restoring] }, 'production', NOW)).toEqual([]);
    expect(waitingLines({ ...progress, outcome: 'aborted' }, 'production', NOW)).toEqual([]);
  });

  it('shows who paused it, and why', () => {
    const waiting = { for: 'resume', since: at, until, note: 'paused: no further step begins' } as const;
    const interventions = [
      sampleIntervention({ by: { who: 'bo', from: 'cli', reason: 'look first' } }),
      sampleIntervention({ by: { who: 'ada', from: 'cli' }, taken: false }),
      sampleIntervention({ kind: 'skip', what: 'greets', by: { who: 'cleo', from: 'cli' } }),
    ];
    expect(waitingLines({ ...sampleProgress([]), waiting, interventions }, 'production', NOW)[0]).toContain(
      '; asked by bo (claimed) at 2026-11-21 12:09:00Z (look first); slipway resume production or slipway abort',
    );
  });

  it('shows the remaining soak time, and none for a soak that only has its last checks to pass', () => {
    const progress = { ...sampleProgress([runningStep({ step: 'soak' })]), watchUntil: until };
    expect(waitingLines(progress, 'production', NOW)).toEqual([
      'soak     until 2026-11-21 12:40:00Z (30m00s left); slipway skip production --soak',
    ]);
    expect(waitingLines(progress, 'production', Date.parse(until))).toEqual([
      'soak     until 2026-11-21 12:40:00Z; slipway skip production --soak',
    ]);
    const soaked = [sampleStep({ step: 'soak' }), runningStep({ step: 'promote' })];
    expect(waitingLines({ ...progress, steps: soaked }, 'production', NOW)).toEqual([]);
    expect(waitingLines({ ...progress, steps: [runningStep({ step: 'bake' })] }, 'up', NOW)).toEqual([
      'bake     until 2026-11-21 12:40:00Z (30m00s left)',
    ]);
  });

  it('shows that anyone except the requester may approve, and who has approved', () => {
    const waiting = { for: 'approval', since: at, until, note: 'two approvals are needed' } as const;
    const refused = sampleIntervention({ kind: 'approve', by: { who: 'ada', from: 'cli' }, taken: false });
    const interventions = [sampleIntervention({ kind: 'approve' }), refused, sampleIntervention({})];
    expect(waitingLines({ ...sampleProgress([]), waiting, interventions }, 'production', NOW)[0]).toContain(
      '; anyone except the person who asked for it may approve, bo (claimed) has approved; slipway approve production',
    );
  });

  it('shows that who released the artifact that is promoted may not approve', () => {
    const madeBy = [{ who: 'cleo', from: 'cli' }];
    const shown = (approvers?: readonly string[]) => {
      const waiting = {
        for: 'approval',
        since: at,
        until,
        note: 'one approval is needed',
        approvers,
      } as const;
      return waitingLines({ ...sampleProgress([]), waiting, madeBy }, 'production', NOW)[0];
    };
    expect(shown()).toContain(
      '; anyone except the person who asked for it and cleo, who released the artifact, may approve; ',
    );
    expect(shown(['ada', 'cleo'])).toContain('; ada may approve; ');
  });

  it('fits 60 columns: sentences wrap, lines of a build are truncated, ids are short', () => {
    const call = { says: 'revision 13dae0f0-b4d2-44e4-a629-09e91345ec88 is DEPLOYING', since: at, until };
    const buildLog = [`compiling ${'x'.repeat(200)}`];
    const shown = { progress: null, call, buildLog, addressed: 'production' };
    expect(underWayLines(shown, { now: NOW, style: styleOf(false), columns: 60 })).toEqual([
      '  now      revision 13dae0f0 is DEPLOYING; since 2026-11-21',
      '           12:09:00Z, until 2026-11-21 12:40:00Z (30m00s',
      '           left)',
      `    compiling ${'x'.repeat(44)}…`,
    ]);
  });
});
