import { createHash } from 'node:crypto';

import { canonicalJson } from '@slipway/contract/canonicalJson';

import type { ReleaseSettings } from '../../../config/releaseSettings.ts';
import { artifactIdentity } from '../../../domain/artifact/artifact.ts';
import type { ReceiverSpec } from '../../../domain/notify/notice.ts';
import type { ReleaseRequest } from '../../../domain/release/release.ts';
import { type Git, sourceRepository } from '../../provenance.ts';

/** The parts of a request that are not in the file. */
type Asked = Pick<
  ReleaseRequest,
  | 'target'
  | 'artifact'
  | 'commit'
  | 'committedAt'
  | 'ref'
  | 'recordStore'
  | 'requestedBy'
  | 'overrideHold'
  | 'overrideFreeze'
>;

/** A target's settings, once the datasets of its checks were read. */
export type ReadSettings = Omit<ReleaseSettings, 'checks'> & Pick<ReleaseRequest, 'checks'>;

/** Makes a release request from the file's settings for the target. */
export function releaseRequest(
  {
    checks,
    checksBudget,
    steps,
    soakMs,
    pauseMs,
    queue,
    graphConfigPath,
    onError,
    approval,
    freezes = [],
    guard,
    notify = [],
  }: ReadSettings,
  {
    target,
    artifact,
    commit,
    committedAt,
    ref,
    recordStore,
    requestedBy,
    overrideHold,
    overrideFreeze,
  }: Asked,
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
    committedAt,
    ref,
    overrideHold,
    pauseMs,
    checksBudget,
    onError,
    approval,
    ...(guard === undefined ? {} : { guard }),
    ...(freezes.length === 0 ? {} : { freezes }),
    ...(notify.length === 0 ? {} : { notify }),
    overrideFreeze,
  };
}

/** The inputs of a request key. */
export type RequestIdentity = Pick<
  ReleaseRequest,
  'artifact' | 'target' | 'checks' | 'steps' | 'soakMs' | 'graphConfigPath' | 'commit'
>;

/**
 * The request key (design, "The way of a release", 1): two requests with the same key ask for the same release. A
 * digest of the artifact's identity, the release's configuration, and the commit. It excludes the target's name in the
 * file, the artifact store's location, the queue policy and the requester.
 *
 * @returns `sha256:` and 64 hexadecimal digits.
 */
export function requestKey(request: RequestIdentity): string {
  const { name: _name, ...target } = request.target;
  const identity = {
    artifact: artifactIdentity(request.artifact),
    target,
    checks: request.checks,
    steps: request.steps,
    soakMs: request.soakMs,
    graphConfigPath: request.graphConfigPath,
    commit: request.commit ?? null,
  };
  return `sha256:${createHash('sha256').update(canonicalJson(identity)).digest('hex')}`;
}

/**
 * The receivers of a release's notices. GitHub receivers without a repository get the source's repository, which git
 * reports; git is called only if one needs it.
 */
export async function notifyOf(
  receivers: readonly ReceiverSpec[],
  environment: Readonly<Record<string, string | undefined>>,
  git: Git,
): Promise<readonly ReceiverSpec[]> {
  if (!receivers.some(lacksRepository)) return receivers;
  const repository = await sourceRepository(environment, git);
  if (repository === undefined) return receivers;
  return receivers.map((receiver) => (lacksRepository(receiver) ? { ...receiver, repository } : receiver));
}

function lacksRepository(receiver: ReceiverSpec): boolean {
  const { kind } = receiver;
  return (kind === 'github_deployment' || kind === 'github_status') && receiver.repository === undefined;
}
