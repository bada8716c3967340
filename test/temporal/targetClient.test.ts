import { describe, expect, it } from 'vitest';

import { viewTarget } from '../../src/temporal/targetClient.ts';
import { answeringTemporal } from './answeringTemporal.ts';

/** The two ways in which gRPC tells of a call that took too long. */
const OUT_OF_TIME = [
  ['here', 'DEADLINE_EXCEEDED', 4],
  ['there', 'CANCELLED', 1],
] as const;

describe.each(OUT_OF_TIME)('where the time is over %s first (%s)', (_where, name, code) => {
  const outOfTime = (): Promise<never> =>
    Promise.reject(Object.assign(new Error(`${code} ${name}`), { code, details: '', metadata: {} }));

  it('the worker is blamed where Temporal answers and the question to the target does not come back', async () => {
    const asked = viewTarget(targetThat(outOfTime), 'target:x:greeter');
    await expect(asked).rejects.toMatchObject({ code: 'SLIPWAY_NO_WORKER' });
  });

  it('Temporal is blamed where Temporal itself does not answer', async () => {
    const asked = viewTarget(targetThat(outOfTime, outOfTime), 'target:x:greeter');
    await expect(asked).rejects.toMatchObject({ code: 'SLIPWAY_TEMPORAL_UNREACHABLE' });
  });
});

function targetThat(query: () => Promise<unknown>, describeIt = () => Promise.resolve({})) {
  return answeringTemporal({ workflow: { getHandle: () => ({ describe: describeIt, query }) } });
}
