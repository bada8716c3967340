import type { LoadedConfig } from '../../../config/loadConfig.ts';
import type { Actor } from '../../../domain/actor.ts';
import type { RequestSource } from '../../../hooks/listeningHook.ts';
import type { CommandContext } from '../../context.ts';
import { promotionRequest } from '../promotion/promotionRequest.ts';
import { releaseRequest, sourceFacts } from '../release/releaseRequest.ts';
import { storeArtifact } from '../release/storeArtifact.ts';
import { chooseTargetSpec } from '../target/targetAccess.ts';

/** A placeholder. The worker replaces it by the event. */
const BY: Actor = { who: 'hook', from: 'hook' };

/**
 * Makes the requests that "slipway release" and "slipway promote" would make in the folder of the file. Events that arrive
 * meanwhile share a request.
 */
export function requestSource(
  context: CommandContext,
  file: Pick<LoadedConfig, 'config' | 'folder'>,
  signal: AbortSignal,
): RequestSource {
  return {
    release: shared(async (name) => {
      const { settings, spec } = await chooseTargetSpec(context, file.config, name);
      const source = await sourceFacts(context.environment, file.folder, settings.notify);
      const { prepared, checks } = await storeArtifact(context, file, { name, settings }, false, signal);
      const { artifact, recordStore } = prepared;
      return releaseRequest(
        { ...settings, ...source, checks },
        { target: spec, artifact, recordStore, requestedBy: BY },
      );
    }),
    promotion: shared(async (name) => {
      const { request, store } = await promotionRequest(context, file, name, BY);
      await store();
      return request;
    }),
  };
}

/** Shares the work in progress among calls for the same name. */
function shared<T>(work: (name: string) => Promise<T>): (name: string) => Promise<T> {
  const running = new Map<string, Promise<T>>();
  return (name) => {
    const known = running.get(name);
    if (known !== undefined) return known;
    const begun = work(name).finally(() => running.delete(name));
    running.set(name, begun);
    return begun;
  };
}
