import { expect, it } from 'vitest';

import type { StepRecord } from '../../../src/domain/release/release.ts';
import { splitTime } from '../../../src/domain/release/timeSplit.ts';

const at = (seconds: number): string => new Date(seconds * 1_000).toISOString();
const step = (name: StepRecord['step'], from: number, to?: number): StepRecord => ({
  step: name,
  restoring: false,
  startedAt: at(from),
  ...(to === undefined ? { status: 'running' } : { status: 'done', endedAt: at(to) }),
});
const approved = (seconds: number) =>
  ({
    id: 'a',
    kind: 'approve',
    by: { who: 'ada', from: 'cli' },
    at: at(seconds),
    taken: true,
    note: '',
  }) as const;

it('time between two steps with a person’s message counts as waiting for people', () => {
  const steps = [step('find', 0, 2), step('patch', 12, 13), step('check', 13, 20)];
  const timed = { startedAt: at(0), endedAt: at(20), steps, interventions: [approved(12)], waiting: null };
  expect(splitTime(timed, 0)).toEqual({
    controlPlane: 3_000,
    machine: 7_000,
    soak: 0,
    people: 10_000,
    freezes: 0,
  });
});

it('time after a check of freezes counts as a freeze', () => {
  const steps = [step('freeze', 0, 1), step('patch', 61, 62)];
  const timed = { startedAt: at(0), endedAt: at(62), steps, interventions: [], waiting: null };
  expect(splitTime(timed, 0)).toEqual({
    controlPlane: 1_000,
    machine: 1_000,
    soak: 0,
    people: 0,
    freezes: 60_000,
  });
});

it('a current wait counts up to now, and overlapping steps count once', () => {
  const steps = [step('find', 0, 4), step('baseline', 2, 6)];
  const waiting = { for: 'approval', since: at(6), until: at(99), note: '' } as const;
  const timed = { startedAt: at(0), steps, interventions: [], waiting };
  expect(splitTime(timed, 36_000)).toEqual({
    controlPlane: 4_000,
    machine: 2_000,
    soak: 0,
    people: 30_000,
    freezes: 0,
  });
});

it('a soak is separate, and the parts add up to the total', () => {
  const steps = [
    step('deployed', 0, 60),
    step('check', 60, 70),
    step('soak', 70, 370),
    step('record', 371, 372),
  ];
  const timed = { startedAt: at(0), endedAt: at(380), steps, interventions: [], waiting: null };
  const split = splitTime(timed, 0);
  expect(split).toMatchObject({ controlPlane: 60_000, soak: 300_000, people: 0 });
  expect(Object.values<number>({ ...split }).reduce((sum, ms) => sum + ms, 0)).toBe(380_000);
});
