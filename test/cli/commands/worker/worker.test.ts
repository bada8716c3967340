import { expect, it } from 'vitest';

import { nextSteps, runRolloutCommand } from '../../../../src/cli/commands/worker/rollout.ts';
import { placeRules } from '../../../../src/cli/commands/worker/placeRules.ts';
import { logLine } from '../../../../src/cli/commands/worker/workerLog.ts';
import { PLACE_RULES } from '../../../../src/domain/promotion/places.ts';
import type { Routing } from '../../../../src/temporal/versions/routing.ts';
import { testOutput } from '../../testOutput.ts';

it('a line of the worker’s log is one JSON object, like the platform’s lines', () => {
  const error = new Error('no answer', { cause: new TypeError('reset') });
  const line = logLine({
    level: 'WARN',
    timestampNanos: 1_790_000_000_123_456_789n,
    message: 'Activity failed',
    meta: { error, workflowId: 'target:a:b/release-1', release: 'release-1', tries: 3n, taskToken: 'CiQw' },
  });
  expect(line).not.toContain('\n');
  expect(JSON.parse(line)).toEqual({
    level: 40,
    time: '2026-09-21T14:13:20.123Z',
    msg: 'Activity failed',
    workflowId: 'target:a:b/release-1',
    release: 'release-1',
    tries: '3',
    err: {
      type: 'Error',
      message: 'no answer',
      stack: error.stack,
      cause: { type: 'TypeError', message: 'reset', stack: (error.cause as Error).stack },
    },
  });
});

const VERSIONS = ['new', 'old'].map((buildId, index) => {
  return { buildId, status: 'current', createdAt: 0, lastActiveAt: 2 - index } as const;
});
const ROUTING: Routing = { current: 'new', wasEverCurrent: true, ramping: undefined, versions: VERSIONS };

it('the next command of a rollout names the installation that can run it, if it is not this one', () => {
  expect(nextSteps(ROUTING, 'new')).toEqual([
    'Go back to old, from its installation: slipway worker rollout --back',
  ]);
  const ramping = { ...ROUTING, current: 'old', ramping: { buildId: 'new', percentage: 10 } };
  expect(nextSteps(ramping, 'new')[0]).toBe('Finish the ramp: slipway worker rollout new --current');
  expect(nextSteps(ramping, 'old')[0]).toMatch(/^Finish the ramp, from its installation: /u);
});

it('a rollout goes back to no version that a person names', async () => {
  const context = { output: testOutput(), home: '', environment: { TEMPORAL_ADDRESS: '127.0.0.1:1' } };
  await expect(runRolloutCommand(context, 'old', { back: true, replay: true })).rejects.toMatchObject({
    code: 'SLIPWAY_USAGE',
    hint: 'send all new work to old with --current',
  });
});

it('the worker’s environment sets how many promotions run at the same time, and the pause between their starts', () => {
  expect(placeRules({})).toEqual(PLACE_RULES);
  const empty = { SLIPWAY_PROMOTIONS_AT_ONCE: '', SLIPWAY_PROMOTIONS_APART: '' };
  expect(placeRules(empty)).toEqual(PLACE_RULES);
  const set = { SLIPWAY_PROMOTIONS_AT_ONCE: '12', SLIPWAY_PROMOTIONS_APART: '1m' };
  expect(placeRules(set)).toEqual({ atOnce: 12, apartMs: 60_000 });
});

it.each([{ SLIPWAY_PROMOTIONS_AT_ONCE: 'many' }, { SLIPWAY_PROMOTIONS_APART: 'soon' }])(
  'rejects %j',
  (environment) => {
    expect(() => placeRules(environment)).toThrow(expect.objectContaining({ code: 'SLIPWAY_USAGE' }));
  },
);
