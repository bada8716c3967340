import { expect, it } from 'vitest';

import { STEP_NAMES } from '../../src/domain/step.ts';
import { backoff } from '../../src/workflows/sendAtMostOnce.ts';
import { stepPolicy } from '../../src/workflows/steps.ts';

it.each(STEP_NAMES)('the step %s survives a control plane that is away for half a minute', (step) => {
  const { retry, scheduleToCloseMs } = stepPolicy(step, {});
  const attempts = retry.maximumAttempts === 0 ? 100 : retry.maximumAttempts;
  const waits = Array.from({ length: attempts - 1 }, (_, index) => backoff(retry, index + 1));
  const waitedMs = waits.reduce((sum, wait) => sum + wait, 0);
  expect(Math.min(waitedMs, scheduleToCloseMs)).toBeGreaterThanOrEqual(30_000);
});
