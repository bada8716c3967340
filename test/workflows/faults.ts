import { Context } from '@temporalio/activity';

import type { DeploymentSnapshot } from '../../src/domain/deployment/revision.ts';
import type { ErrorCode } from '../../src/domain/errors.ts';
import type { Fault, World } from './world.ts';
import { failure } from './failures.ts';

/** The service refuses permanently: the call certainly had no effect. */
export const refused =
  (code: ErrorCode = 'SLIPWAY_REFUSED', status = 422): Fault =>
  () =>
    Promise.reject(failure(code, { taken: false, final: true, status }));

/** One refusal for each redeploy that a restore attempts. */
export const NO_REDEPLOY: readonly Fault[] = Array.from({ length: 10 }, () => refused());

/** The call did not reach the service, or was refused temporarily: it certainly had no effect. */
export const notTaken =
  (code: ErrorCode = 'SLIPWAY_UNREACHABLE', retryAfterMs?: number): Fault =>
  () =>
    Promise.reject(failure(code, { taken: false, retryAfterMs }));

/** The call takes effect, but its answer is lost. */
export const unansweredButTaken: Fault = async (perform) => {
  await perform();
  throw failure('SLIPWAY_NO_ANSWER', { taken: true });
};

/** The call takes effect, but its answer arrives after the attempt's deadline. */
export const answeredTooLate: Fault = async (perform) => {
  const result = await perform();
  const { info } = Context.current();
  await Context.current().sleep(2 * info.startToCloseTimeoutMs);
  return result;
};

/** The call is lost, and the caller cannot know it. */
export const unansweredAndLost: Fault = () => Promise.reject(failure('SLIPWAY_NO_ANSWER', { taken: true }));

/** The answer is lost; the call takes effect after something else has happened. */
export const landsLate =
  (when: (world: World) => Promise<void>): Fault =>
  (perform, world) => {
    void when(world).then(perform);
    return Promise.reject(failure('SLIPWAY_NO_ANSWER', { taken: true }));
  };

/** The call takes effect; before its answer arrives, something else happens. */
export const followedBy =
  (happens: (world: World) => void): Fault =>
  async (perform, world) => {
    const result = await perform();
    happens(world);
    return result;
  };

/** The call takes effect, but its answer still names the previous latest revision. */
export const answeredWithOldLatest: Fault = async (perform, world) => {
  const { latest } = world;
  const { deployment, ...rest } = (await perform()) as { readonly deployment: DeploymentSnapshot };
  return { ...rest, deployment: { ...deployment, latestRevisionId: latest } };
};

/** The call is delivered twice. The second delivery is refused, because the first has created the object. */
export const takenAndRefused: Fault = async (perform) => {
  await perform();
  throw failure('SLIPWAY_CONFLICT', { taken: false, final: true, status: 409 });
};

/** The call takes effect together with another client's, whose revision with our artifact its answer names. */
export const mixedWith =
  (order: 'before' | 'after', theirs: (world: World) => string): Fault =>
  async (perform, world) => {
    const first = order === 'before' ? theirs(world) : '';
    const { deployment, ...rest } = (await perform()) as { readonly deployment: DeploymentSnapshot };
    const latestRevisionId = first === '' ? theirs(world) : first;
    return { ...rest, deployment: { ...deployment, latestRevisionId } };
  };

/** Another client's PATCH follows the call, whether or not the call took effect. */
export const overtaken =
  (call: Fault, theirs: (world: World) => void = (world) => void world.patchElsewhere()): Fault =>
  async (perform, world) => {
    try {
      return await call(perform, world);
    } finally {
      theirs(world);
    }
  };

/** From now on and for a time, reads name an earlier revision as the latest one. */
export function readsLag(world: World, latestRevisionId: string, ms: number): void {
  const until = Date.now() + ms;
  const lags: Fault = async (perform) => {
    const { deployment, ...rest } = (await perform()) as { readonly deployment: DeploymentSnapshot };
    return { ...rest, deployment: Date.now() < until ? { ...deployment, latestRevisionId } : deployment };
  };
  world.next('readDeployment', ...Array<Fault>(8).fill(lags));
}
