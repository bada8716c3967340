import { identity } from '../requests.ts';
import { failure } from '../failures.ts';
import type { Life } from './life.ts';

/** Lives of previews, and of their targets. */
export const PREVIEWS: Readonly<Record<string, Life>> = {
  preview: async (harness, _promotions, _hooks, previews) => {
    const target = harness.newTarget();
    const { world } = target;
    const preview = previews.of(target, { continueAsNewAfterEvents: 60 });
    world.slow.add(identity('a'));
    await preview.push('a');
    await world.called('awaitDeployed');
    await preview.push('a');
    await preview.push('b');
    await preview.stateOnce(({ last }) => last?.releaseId === 'release-2');
    const away = () => Promise.reject(failure('SLIPWAY_SERVICE_ERROR', { taken: true, status: 503 }));
    world.next('deleteDeployment', away);
    await preview.remove('closed');
    await preview.stateOnce(({ removal }) => (removal?.attempts ?? 0) > 0);
    await preview.result();
    return target;
  },
  'preview-expires': async (harness, _promotions, _hooks, previews) => {
    const target = harness.newTarget();
    target.world.controlPlane.offersDelete = false;
    const preview = previews.of(target);
    await preview.push('a', { ttlMs: 3_000 });
    await preview.result();
    return target;
  },
};
