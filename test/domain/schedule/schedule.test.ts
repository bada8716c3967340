import { expect, it } from 'vitest';

import type { PromotionRequest } from '../../../src/domain/promotion/promotion.ts';
import {
  cronProblem,
  type DeclaredSchedule,
  scheduleChanges,
} from '../../../src/domain/schedule/schedule.ts';
import { request } from '../target/targets.ts';

const { target: TARGET } = request('key');
const REQUEST: PromotionRequest = {
  name: 'nightly',
  from: { ...TARGET, name: 'canary' },
  to: TARGET,
  downstream: [],
  release: { checks: [], steps: {}, soakMs: 0, graphConfigPath: 'graph.json' },
  soakMs: 3_600_000,
  bakeMs: 0,
  checkEveryMs: 60_000,
  freezes: [],
  differences: [],
  store: 'file:///store',
  requestedBy: { who: 'schedule', from: 'schedule nightly' },
};
const DECLARED: DeclaredSchedule = {
  scheduleId: 'promotion:one',
  request: REQUEST,
  schedule: {
    cron: '0 2 * * *',
    timeZone: 'Europe/Berlin',
    jitterMs: 0,
    overlap: 'skip',
    catchUpMs: 600_000,
  },
};

it('an equal schedule is not changed, with its fields in any order', () => {
  const stored = JSON.parse(JSON.stringify(DECLARED)) as DeclaredSchedule;
  expect(scheduleChanges([DECLARED], [stored])).toMatchObject([{ kind: 'unchanged', differences: [] }]);
});

it('a missing schedule is created, and an undeclared one is named', () => {
  const other = { ...DECLARED, scheduleId: 'promotion:other', request: { ...REQUEST, name: 'other' } };
  expect(scheduleChanges([DECLARED], [other])).toEqual([
    {
      scheduleId: 'promotion:one',
      name: 'nightly',
      kind: 'create',
      differences: ['0 2 * * * (Europe/Berlin)'],
    },
    { scheduleId: 'promotion:other', name: 'other', kind: 'undeclared', differences: [] },
  ]);
});

it('each difference is shown with both values, of the schedule and of its action', () => {
  const before = {
    ...DECLARED,
    schedule: { ...DECLARED.schedule, cron: '0 3 * * *' },
    request: { ...REQUEST, soakMs: 1, to: { ...TARGET, sourceConfig: { install_command: 'npm ci' } } },
  };
  expect(scheduleChanges([DECLARED], [before])).toMatchObject([
    {
      kind: 'update',
      differences: [
        'cron: "0 3 * * *" → "0 2 * * *"',
        'to.sourceConfig.install_command: "npm ci" → null',
        'soakMs: 1 → 3600000',
      ],
    },
  ]);
});

it.each(['0 10 * * 1-5', '*/15 8-18 * * MON-FRI', '0 0 29 2 *', '5,10,15 0 1 jan *', '30 2/4 * * 7'])(
  '%j is valid',
  (cron) => {
    expect(cronProblem(cron)).toBeUndefined();
  },
);

it.each([
  ['0 10 * *', 'found 4'],
  ['0 0 10 * * *', 'found 6'],
  ['60 * * * *', '"60" is no minute'],
  ['0 24 * * *', '"24" is no hour'],
  ['0 0 0 * *', '"0" is no day of month'],
  ['0 0 * 13 *', '"13" is no month'],
  ['0 0 * * 8', '"8" is no day of week'],
  ['0 0 * * FRY', '"FRY" is no day of week'],
  ['0 0 5-1 * *', '"5-1" is no day of month'],
  ['*/0 * * * *', '"*/0" is no minute'],
  ['a * * * *', '"a" is no minute'],
  ['1-2-3 * * * *', '"1-2-3" is no minute'],
  ['1, * * * *', '"1," is no minute'],
  ['0 0 31 2 *', 'no month has such a day'],
  ['0 0 31 4,6 *', 'no month has such a day'],
  ['0 0 31 2 MON', 'no month has such a day'],
])('%j is invalid: %s', (cron, problem) => {
  expect(cronProblem(cron)).toContain(problem);
});
