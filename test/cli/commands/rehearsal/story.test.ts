import { describe, expect, it } from 'vitest';

import { Story } from '../../../../src/cli/commands/rehearsal/story.ts';
import type { InterventionRecord } from '../../../../src/domain/intervention/intervention.ts';
import type { PromotionResult } from '../../../../src/domain/promotion/promotion.ts';
import type { Rehearsal, RehearsalEvent } from '../../../../src/rehearsal/play.ts';
import { sampleStep } from '../../ui/sampleProgress.ts';
import { testOutput } from '../../testOutput.ts';

const at = (time: string): number => Date.parse(`2026-11-${time}:00Z`);
const iso = (time: string): string => new Date(at(time)).toISOString();

const REHEARSAL = {
  promotions: [
    {
      request: { name: 'up', from: { name: 'canary' }, to: { name: 'production' } },
      schedule: { timeZone: 'Europe/Berlin' },
    },
  ],
  days: 7,
  timeZone: 'Europe/Berlin',
} as unknown as Rehearsal;

function between(started: string, ended: string) {
  return { startedAt: iso(started), endedAt: iso(ended) };
}

function approval(who: string, time: string, taken: boolean, note: string): InterventionRecord {
  return { id: who, kind: 'approve', by: { who, from: 'rehearsal' }, at: iso(time), taken, note };
}

const PROMOTED: PromotionResult = {
  promotion: 'up',
  from: 'canary',
  to: 'production',
  code: null,
  commit: null,
  differences: [],
  artifact: 'image:greeter:2',
  candidateRevisionId: 'canary-2',
  releaseId: 'release-1',
  verdicts: [],
  judgement: null,
  requestedBy: { who: 'schedule', from: 'schedule up' },
  startedAt: iso('23T09:00'),
  outcome: 'released',
  reason: 'revision production-2 is deployed',
  nothingToDo: false,
  steps: [
    sampleStep({ step: 'candidate', ...between('23T09:00', '23T09:00') }),
    sampleStep({
      ...{ step: 'soak', subject: 'canary for 3h00m', attempts: 7 },
      ...between('23T09:00', '23T12:00'),
    }),
    sampleStep({
      ...{ step: 'promote', subject: 'release-1', detail: 'released' },
      ...between('23T14:00', '23T14:02'),
    }),
  ],
  interventions: [
    approval('cy', '23T13:00', false, 'cy may not approve; these may: ada'),
    approval('ada', '23T14:00', true, 'approved by 1 of 1'),
  ],
  endedAt: iso('23T14:02'),
};

function tell(told: readonly RehearsalEvent[], options: { readonly json?: boolean } = {}) {
  const output = testOutput(options);
  const unmet = [{ kind: 'approval', says: null, text: 'nobody approves' }] as const;
  const rehearsed = { startedAt: at('22T00:00'), endedAt: at('29T00:00'), unmet };
  new Story(output, REHEARSAL).print(rehearsed, told, 3_210);
  return output;
}

describe('the story of a rehearsal', () => {
  it('has each time with its steps, and people’s messages between them, on the clocks of its schedule', () => {
    const { said } = tell([{ kind: 'promotion', name: 'up', at: at('23T09:00'), result: PROMOTED }]);
    expect(said).toEqual([
      '2026-11-23 10:00 (Europe/Berlin)  up',
      '  2026-11-23 10:00  ✔ soak canary for 3h00m                  3h00m  7 attempts',
      '  2026-11-23 14:00  cy: approve, rejected: cy may not approve; these may: ada',
      '  2026-11-23 15:00  ada: approve, approved by 1 of 1',
      '  2026-11-23 15:00  ✔ promote release-1                      2m00s  released',
      '  2026-11-23 15:02  ✔ released: revision production-2 is deployed',
      '! never happened: nobody approves',
      '7 days rehearsed in 3.2s',
    ]);
  });

  it('is in the order of the starts, not of the ends', () => {
    const { said } = tell([
      { kind: 'overlap', name: 'up', at: at('24T09:00'), what: 'left_out' },
      { kind: 'refused', target: 'canary', at: at('22T00:00'), reason: 'on hold' },
      {
        kind: 'goes_on',
        what: 'promotion',
        name: 'up',
        at: at('23T09:00'),
        progress: { steps: [], waiting: { note: 'one approval is needed' }, phase: '' } as never,
      },
    ]);
    expect(said.slice(0, 6)).toEqual([
      '2026-11-22 01:00 (Europe/Berlin)  release on canary',
      '  2026-11-22 01:00  refused: on hold',
      '2026-11-23 10:00 (Europe/Berlin)  up',
      '  … still running: one approval is needed',
      '2026-11-24 10:00 (Europe/Berlin)  up',
      '  2026-11-24 10:00  is left out: the promotion of an earlier time is still running',
    ]);
  });

  it('is also a list of events, with the whole records', () => {
    const { events } = tell(
      [
        { kind: 'promotion', name: 'up', at: at('23T09:00'), result: PROMOTED },
        { kind: 'refused', target: 'canary', at: at('24T00:00'), reason: 'on hold' },
      ],
      { json: true },
    );
    expect(events).toEqual([
      {
        event: 'rehearsed_promotion',
        name: 'up',
        at: iso('23T09:00'),
        state: 'ended',
        result: PROMOTED,
        progress: null,
      },
      {
        event: 'rehearsed_release',
        target: 'canary',
        at: iso('24T00:00'),
        result: null,
        reason: 'on hold',
        progress: null,
      },
      { event: 'rehearsal_unmet', injection: 'nobody approves' },
      { event: 'rehearsal_ended', startedAt: iso('22T00:00'), days: 7, tookMs: 3_210 },
    ]);
  });
});
