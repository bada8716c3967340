import { expect, it } from 'vitest';

import { backoffMs, STEP_NAMES, type StepName } from '../../src/domain/step.ts';
import { stepPolicy } from '../../src/domain/stepTable.ts';

/** How long the steps wait that do not wait five minutes. */
const SHORTER: Readonly<Partial<Record<StepName, number>>> = { baseline: 30, check: 30, record: 30 };

it.each(STEP_NAMES.map((step) => [step, SHORTER[step] ?? 300] as const))(
  'the step %s survives a service that is away for %i s',
  (step, seconds) => {
    const { retry, scheduleToCloseMs } = stepPolicy(step, {});
    const attempts = retry.maximumAttempts === 0 ? 100 : retry.maximumAttempts;
    const waits = Array.from({ length: attempts - 1 }, (_, index) => backoffMs(retry, index + 1));
    const waitedMs = waits.reduce((sum, wait) => sum + wait, 0);
    expect(Math.min(waitedMs, scheduleToCloseMs)).toBeGreaterThanOrEqual(seconds * 1_000);
  },
);
