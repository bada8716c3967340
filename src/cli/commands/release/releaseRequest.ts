import type { ReleaseSettings } from '../../../config/releaseSettings.ts';
import type { ReleaseRequest } from '../../../domain/release/release.ts';
import { requestKey } from '../../../temporal/client/release/requestKey.ts';

/** What of a request the file does not say. */
export type Asked = Pick<
  ReleaseRequest,
  'target' | 'artifact' | 'commit' | 'ref' | 'recordStore' | 'requestedBy' | 'overrideHold' | 'overrideFreeze'
>;

/** Makes the request for a release, as the file has it for the target. */
export function releaseRequest(
  {
    checks,
    steps,
    soakMs,
    pauseMs,
    queue,
    graphConfigPath,
    onError,
    approval,
    freezes = [],
    notify = [],
  }: ReleaseSettings,
  { target, artifact, commit, ref, recordStore, requestedBy, overrideHold, overrideFreeze }: Asked,
): ReleaseRequest {
  const content = {
    target,
    artifact,
    graphConfigPath,
    checks,
    steps,
    soakMs,
    commit,
  };
  return {
    ...content,
    requestKey: requestKey(content),
    queue,
    recordStore,
    requestedBy,
    ref,
    overrideHold,
    pauseMs,
    onError,
    approval,
    ...(freezes.length === 0 ? {} : { freezes }),
    ...(notify.length === 0 ? {} : { notify }),
    overrideFreeze,
  };
}
