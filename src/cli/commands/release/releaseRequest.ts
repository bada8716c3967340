import { createHash } from 'node:crypto';
import { resolve } from 'node:path';

import { canonicalJson } from '@slipway/contract/json';
import { pick } from '@slipway/contract/pick';

import type { Environment } from '../../../config/environment.ts';
import type { Project } from '../../../config/loadConfig.ts';
import type { ReleaseSettings } from '../../../config/releaseSettings.ts';
import { artifactIdentity } from '../../../domain/artifact/artifact.ts';
import type { ReceiverSpec } from '../../../domain/notify/notice.ts';
import type { ReleaseRequest } from '../../../domain/release/release.ts';
import type { CommandContext } from '../../context.ts';
import { readDatasets } from '../../datasets/readDatasets.ts';
import { type Git, gitIn, readSource, type Source, sourceRepository } from '../../provenance.ts';
import { artifactOf, type PreparedArtifact } from '../artifact/artifactOf.ts';
import { artifactStoreOf, makeHomeOf } from '../artifact/artifactStoreOf.ts';
import type { ChosenTarget } from '../target/targetAccess.ts';

type Asked = Pick<
  ReleaseRequest,
  'target' | 'artifact' | 'recordStore' | 'requestedBy' | 'overrideHold' | 'overrideFreeze'
>;

export type SourceFacts = Source & Pick<ReleaseRequest, 'notify'>;

export type ReadSettings = Omit<ReleaseSettings, 'checks' | 'target'> &
  Pick<ReleaseRequest, 'checks'> &
  SourceFacts;

export function releaseRequest(
  { freezes = [], guard, notify = [], ...settings }: ReadSettings,
  asked: Asked,
): ReleaseRequest {
  const request = {
    ...settings,
    ...asked,
    ...(guard === undefined ? {} : { guard }),
    ...(freezes.length === 0 ? {} : { freezes }),
    ...(notify.length === 0 ? {} : { notify }),
  };
  return { ...request, requestKey: requestKey(request) };
}

export async function sourceFacts(
  environment: Environment,
  { config, folder }: Project,
  receivers: readonly ReceiverSpec[] = [],
): Promise<SourceFacts> {
  const git = gitIn(folder);
  const packed = resolve(folder, config.artifact.path);
  const [source, notify] = await Promise.all([
    readSource(environment, git, packed === resolve(folder) ? git : gitIn(packed)),
    notifyOf(receivers, environment, git),
  ]);
  return { ...source, notify };
}

/** What a request is compared by as it is. Absent ones leave nothing in the JSON. */
const COMPARED = [
  'checks',
  'steps',
  'soakMs',
  'graphConfigPath',
  'checksBudget',
  'approval',
  'guard',
  'onError',
] as const;

export type RequestIdentity = Pick<
  ReleaseRequest,
  'artifact' | 'target' | 'commit' | (typeof COMPARED)[number]
>;

/**
 * The request key (design, "The way of a release", 1): two requests with the same key ask for the same release. A
 * digest of the artifact's identity, the release's configuration, and the commit. It excludes the target's name in the
 * file, the artifact store's location, the queue policy, the limit of pauses, the receivers, the overrides, the requester,
 * and the freezes: a job that runs again after one was added joins the release that it started before.
 * @returns `sha256:` and 64 hexadecimal digits.
 */
export function requestKey(request: RequestIdentity): string {
  const { name: _name, ...target } = request.target;
  const identity = {
    ...pick(request, ...COMPARED),
    artifact: artifactIdentity(request.artifact),
    target,
    commit: request.commit ?? null,
  };
  return `sha256:${createHash('sha256').update(canonicalJson(identity)).digest('hex')}`;
}

/** The receivers of a release's notices, with the source's repository for GitHub ones that name none. */
export async function notifyOf(
  receivers: readonly ReceiverSpec[],
  environment: Environment,
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

/**
 * Puts a target's artifact and the datasets of its checks into the artifact store.
 * @param strict - refuse a source that contains a suspected secret, instead of warning.
 */
export async function storeArtifact(
  context: CommandContext,
  file: Project,
  { name, settings }: Pick<ChosenTarget, 'name' | 'settings'>,
  strict: boolean,
  signal: AbortSignal,
): Promise<PreparedArtifact & Pick<ReleaseRequest, 'checks'>> {
  const datasets = await readDatasets(context, file, settings, signal);
  await makeHomeOf(artifactStoreOf(file, context), context);
  const prepared = await artifactOf(file, name, context, strict, signal);
  await datasets.store();
  return { ...prepared, checks: datasets.checks };
}
