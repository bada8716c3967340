import type { GuardPolicy } from '../../../src/domain/guard/guardPolicy.ts';
import { refused } from '../faults.ts';
import { waitingFor } from '../moments.ts';
import type { Life } from './life.ts';

/** Asks often, so that a life is short. The address is that of the world's metrics. */
const GUARD: GuardPolicy = {
  forMs: 3_600_000,
  everyMs: 1_000,
  afterMs: 0,
  noData: 'continue',
  metrics: [
    {
      name: 'error_rate',
      source: {
        kind: 'http',
        url: 'http://metrics.test/error_rate?from={from}&until={until}',
        path: 'value',
      },
      max: 0.05,
      risesBy: { by: 0.5, isRelative: true },
    },
  ],
};

/** Lives in which what was released is guarded. */
export const GUARDS: Readonly<Record<string, Life>> = {
  guards: async (harness) => {
    const { target } = harness.newServingTarget();
    await target.release('b', { guard: { ...GUARD, forMs: 1_000 } });
    await target.viewOnce(({ state }) => state.guard?.ended?.verdict === 'passed');
    await target.release('c', { guard: GUARD });
    await target.world.called('guardRevision', 3);
    const rejected = await waitingFor('approval', target, 'rejected', {
      approval: { required: 1, withinMs: 60_000 },
    });
    await target.say(rejected, 'reject', { who: 'bo' });
    await target.result(rejected);
    await target.release('d', { guard: GUARD });
    target.world.measures = () => 0.12;
    await target.viewOnce(({ state }) => state.guard?.ended?.verdict === 'worse');
    await target.viewOnce(({ state, running }) => state.hold !== null && running === null);
    return target;
  },
  'guard-of-a-waiting-release': async (harness) => {
    const { target } = harness.newServingTarget();
    await target.release('b', { guard: GUARD });
    await target.world.called('guardRevision');
    target.world.next('patchDeployment', refused('SLIPWAY_UNAUTHORIZED', 401));
    const { releaseId } = await target.submit('c', { onError: { then: 'wait', waitMs: 60_000 } });
    await target.waitsFor(releaseId, 'decision');
    await target.viewOnce(({ state }) => state.guard?.ended === undefined);
    await target.say(releaseId, 'retry', { who: 'bo' });
    await target.result(releaseId);
    return target;
  },
};
