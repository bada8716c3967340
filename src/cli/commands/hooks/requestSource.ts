import type { LoadedConfig } from '../../../config/loadConfig.ts';
import type { Actor } from '../../../domain/actor.ts';
import type { RequestSource } from '../../../hooks/listeningHook.ts';
import type { CommandContext } from '../../context.ts';
import { readDatasets } from '../../datasets/readDatasets.ts';
import { gitIn, sourceCommit, sourceCommittedAt, sourceRef } from '../../provenance.ts';
import { artifactOf } from '../artifact/artifactOf.ts';
import { warnOfSecrets } from '../artifact/warnOfSecrets.ts';
import { promotionRequest } from '../promotion/promotionRequest.ts';
import { notifyOf, releaseRequest } from '../release/releaseRequest.ts';
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
      const { environment, output } = context;
      const git = gitIn(file.folder);
      const [commit, ref, notify] = await Promise.all([
        sourceCommit(environment, git),
        sourceRef(environment, git),
        notifyOf(settings.notify ?? [], environment, git),
      ]);
      const datasets = await readDatasets(context, file, settings, signal);
      const prepared = await artifactOf(file, name, context, signal, (source) =>
        warnOfSecrets(output, source, false, signal),
      );
      const committedAt = await sourceCommittedAt(git, commit);
      await datasets.store();
      return releaseRequest(
        { ...settings, checks: datasets.checks, notify },
        { target: spec, ...prepared, requestedBy: BY, commit, committedAt, ref },
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
