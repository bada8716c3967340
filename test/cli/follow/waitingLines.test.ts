import { describe, expect, it } from 'vitest';

import { callLine, waitingLines } from '../../../src/cli/follow/waitingLines.ts';
import type { InterventionRecord } from '../../../src/domain/intervention.ts';
import { runningStep, sampleProgress, sampleStep } from './sampleProgress.ts';

const NOW = Date.parse('2026-11-21T12:10:00.000Z');
const at = '2026-11-21T12:09:00.000Z';
const until = '2026-11-21T12:40:00.000Z';

function said(change: Partial<InterventionRecord>): InterventionRecord {
  return { id: 'i', kind: 'pause', by: { who: 'bo', from: 'cli' }, at, taken: true, note: '', ...change };
}

describe('what something waits for', () => {
  it('says since when, until when, who may end it, and with which command', () => {
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

  it('says that a pause and a skipped check were asked for and are not reached', () => {
    const skip = said({ kind: 'skip', what: 'greets', by: { who: 'ada', from: 'cli', reason: 'known' } });
    const progress = { ...sampleProgress([]), interventions: [said({}), skip] };
    expect(waitingLines(progress, 'production', NOW)).toEqual([
      'pauses   before its next step, asked by bo at 2026-11-21 12:09:00Z; slipway resume production',
      'skips    greets, asked by ada at 2026-11-21 12:09:00Z (known)',
    ]);
    const resumed = { ...progress, interventions: [said({}), said({ kind: 'resume' }), skip] };
    const reached = sampleStep({ step: 'check', subject: 'greets', status: 'skipped' });
    expect(waitingLines({ ...resumed, steps: [reached] }, 'production', NOW)).toEqual([]);
  });

  it('says how long a soak still watches', () => {
    const progress = { ...sampleProgress([runningStep({ step: 'soak' })]), watchUntil: until };
    expect(waitingLines(progress, 'production', NOW)).toEqual([
      'watches  until 2026-11-21 12:40:00Z (30m00s left)',
    ]);
  });

  it('says what the control plane says of the revision, since when, until when', () => {
    expect(callLine({ says: 'revision r2 is DEPLOYING', since: at, until }, NOW)).toBe(
      'says     revision r2 is DEPLOYING; since 2026-11-21 12:09:00Z, until 2026-11-21 12:40:00Z (30m00s left)',
    );
  });
});
