import { describe, expect, it } from 'vitest';

import { STEP_NAMES } from '../../src/domain/step.ts';
import {
  coverChecks,
  LONGEST_CALL_MS,
  patiently,
  POLLING_STEPS,
  stepPolicy,
  STEPS,
} from '../../src/domain/stepTable.ts';

const MINUTE = 60_000;
const LONG = { timeoutMs: 20 * MINUTE };
const SHORT = { timeoutMs: MINUTE };

describe('the deadlines of a step that runs checks', () => {
  it('cover a check that takes longer than the step’s default, and each of its attempts', () => {
    const { startToCloseMs, scheduleToCloseMs, retry } = stepPolicy(
      'check',
      coverChecks('check', {}, [LONG]),
    );
    expect(startToCloseMs).toBeGreaterThan(LONG.timeoutMs + 3 * LONGEST_CALL_MS);
    expect(scheduleToCloseMs).toBeGreaterThan(retry.maximumAttempts * startToCloseMs);
  });

  it('cover all checks of a round', () => {
    const round = Array.from({ length: 100 }, () => SHORT);
    const { startToCloseMs, scheduleToCloseMs } = stepPolicy('soak', coverChecks('soak', {}, round));
    expect(startToCloseMs).toBeGreaterThan(100 * MINUTE);
    expect(scheduleToCloseMs).toBeGreaterThan(startToCloseMs);
  });

  it('keep their defaults for short checks, and the values of the file', () => {
    expect(stepPolicy('check', coverChecks('check', {}, [SHORT])).startToCloseMs).toBe(
      STEPS.check.startToCloseMs,
    );
    const set = { check: { startToCloseMs: 30 * MINUTE } };
    expect(stepPolicy('check', coverChecks('check', set, [LONG])).startToCloseMs).toBe(30 * MINUTE);
  });
});

it.each(STEP_NAMES)('the step %s has more time in a restore than in a release', (step) => {
  for (const overrides of [{}, { [step]: { scheduleToCloseMs: 1_000 } }]) {
    const [forward, back] = [stepPolicy(step, overrides), stepPolicy(step, patiently(overrides))];
    expect(back.scheduleToCloseMs).toBeGreaterThan(forward.scheduleToCloseMs);
    expect(back.startToCloseMs).toBe(forward.startToCloseMs);
  }
});

it('a polling step has no limit of attempts, and any other step has one', () => {
  const three = { retry: { maximumAttempts: 3 } };
  for (const step of STEP_NAMES) {
    const expected = POLLING_STEPS.includes(step) ? 0 : 3;
    expect([step, stepPolicy(step, { [step]: three }).retry.maximumAttempts]).toEqual([step, expected]);
  }
});
