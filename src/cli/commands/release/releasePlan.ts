import { createReadStream } from 'node:fs';

import {
  type ArtifactFile,
  artifactFiles,
  filesDifference,
  type FilesDifference,
} from '../../../artifact/artifactFiles.ts';
import { type ArtifactStore, readKeptChecks } from '../../../artifact/artifactStore.ts';
import { ServiceError } from '../../../clients/serviceError.ts';
import type { Project } from '../../../config/loadConfig.ts';
import { artifactIdentity } from '../../../domain/artifact/artifact.ts';
import type { Check } from '../../../domain/check/check.ts';
import { onSlipwayError, SlipwayError } from '../../../domain/errors.ts';
import { frozenAt } from '../../../domain/freeze/freeze.ts';
import type { KnownRevision, ReleaseRequest } from '../../../domain/release/release.ts';
import {
  type DeploymentNow,
  longestMs,
  plannedAnswer,
  plannedChange,
  type PlannedStep,
  plannedSteps,
  restoringSteps,
} from '../../../domain/release/releasePlan.ts';
import { restoreCandidates } from '../../../domain/restore/restoreDecision.ts';
import type { TargetSpec } from '../../../domain/target/targetSpec.ts';
import { EMPTY_TARGET } from '../../../domain/target/targetState.ts';
import type { Deployment } from '../../../inspection/deployment/deploymentAccess.ts';
import type { TargetView } from '../../../messages/target.ts';
import { viewTarget } from '../../../temporal/client/target/targetClient.ts';
import { requireWorker } from '../../../temporal/client/workerPresence.ts';
import type { CommandContext } from '../../context.ts';
import { readDatasets } from '../../datasets/readDatasets.ts';
import type { EventOf } from '../../events/index.ts';
import { withTemporal } from '../../openTemporal.ts';
import { readRequester } from '../../provenance.ts';
import { artifactOf, type PreparedArtifact } from '../artifact/artifactOf.ts';
import { readLocalHold } from '../target/localHold.ts';
import { type ChosenTarget, readDeployment } from '../target/targetAccess.ts';
import { releaseRequest, sourceFacts } from './releaseRequest.ts';

export interface ReleasePlan {
  readonly request: ReleaseRequest;
  readonly event: EventOf<'release_plan'>;
  readonly unreached: Readonly<Partial<Record<'target' | 'deployment', SlipwayError>>>;
}

/**
 * What a release would do now. Stores nothing, and starts nothing. `unreached`: why the target or the control plane could not
 * be asked.
 */
export async function releasePlan(
  context: CommandContext,
  file: Project,
  { name, settings, spec, workflowId, openStore }: ChosenTarget,
  signal: AbortSignal,
): Promise<ReleasePlan> {
  const [deployment, word, localHold] = await Promise.all([
    askDeployment(context, spec, signal),
    askTarget(context, workflowId),
    readLocalHold(context.home, spec),
  ]);
  const view = word instanceof SlipwayError ? undefined : word;
  const found = deployment instanceof SlipwayError ? undefined : deployment;
  const active = found?.active_revision_id ?? null;
  const serving = view?.state.known.find(({ revisionId }) => revisionId === active);

  const { prepared, files } = await shipped(context, file, name, signal);
  const { checks } = await readDatasets(context, file, settings, signal);
  const { artifact, recordStore } = prepared;
  const { environment } = context;
  const requestedBy = await readRequester(context, file.folder, undefined);
  const source = await sourceFacts(environment, file, settings.notify);
  const request = releaseRequest(
    { ...settings, ...source, checks },
    { target: spec, artifact, recordStore, requestedBy },
  );
  const around = {
    exists: found !== undefined && found !== null,
    unknownBaseline: found === undefined || (active !== null && serving === undefined),
  };
  const steps = plannedSteps(request, around);
  const store = openStore();
  const ownChecks = around.unknownBaseline
    ? request.checks
    : await restoredChecks(store, active, view?.state.known ?? []);
  const restoring = restoringSteps({ checks: ownChecks, steps: request.steps });
  const frozen = frozenAt(request.freezes ?? [], Date.now());
  const unreached = {
    target: word instanceof SlipwayError ? word : undefined,
    deployment: deployment instanceof SlipwayError ? deployment : undefined,
  };
  const event: ReleasePlan['event'] = {
    event: 'release_plan',
    target: name,
    artifact: {
      kind: artifact.kind,
      identity: artifactIdentity(artifact),
      sizeBytes: artifact.kind === 'tarball' ? artifact.sizeBytes : null,
      files: files === null ? null : [...files.values()],
      difference: await differenceOf(store, serving, files),
    },
    commit: request.commit ?? null,
    requestKey: request.requestKey,
    deployment: found == null ? null : { deploymentId: found.id, name: found.name, activeRevisionId: active },
    creates: found === undefined ? null : found === null,
    serving: serving ?? null,
    change: found === undefined ? null : plannedChange(request, found === null ? null : nowOf(found)),
    steps: steps.map(withPolicy),
    longestMs: longestMs(steps) + request.soakMs,
    restoring: restoring.map(withPolicy),
    restoringLongestMs: longestMs(restoring),
    checks: request.checks,
    soakMs: request.soakMs,
    approval: request.approval ?? null,
    frozen: frozen === null ? null : { ...frozen, until: new Date(frozen.until).toISOString() },
    localHold: localHold ?? null,
    answer:
      view === undefined ? null : plannedAnswer(view, request, found === undefined ? undefined : active),
    unreached: Object.values(unreached).flatMap((one) =>
      one === undefined ? [] : [{ code: one.code, message: one.message }],
    ),
  };
  return { request, event, unreached };
}

function withPolicy({ policy, ...step }: PlannedStep): ReleasePlan['event']['steps'][number] {
  return { ...step, ...policy };
}

interface Shipped {
  readonly prepared: PreparedArtifact;
  readonly files: ReadonlyMap<string, ArtifactFile> | null;
}

async function shipped(
  context: CommandContext,
  file: Project,
  target: string,
  signal: AbortSignal,
): Promise<Shipped> {
  const files: ReadonlyMap<string, ArtifactFile>[] = [];
  const prepared = await artifactOf(file, target, context, false, signal, async (packed) => {
    const stored = { stream: createReadStream(packed.file), sizeBytes: packed.sizeBytes };
    files.push(await artifactFiles(stored));
  });
  return { prepared, files: files[0] ?? null };
}

async function differenceOf(
  store: ArtifactStore,
  serving: KnownRevision | undefined,
  files: Shipped['files'],
): Promise<FilesDifference | null> {
  const digest = serving?.artifact;
  if (files === null || digest?.startsWith('sha256:') !== true) return null;
  const served = store.open(digest).then(artifactFiles);
  // An artifact from another machine may be in another store; the plan continues without the difference.
  return served.then((before) => filesDifference(before, files)).catch(onSlipwayError(() => null));
}

/** The parts of a deployment that a release changes. Of secrets only the names, never the values. */
function nowOf({ source, source_config, source_revision_config, secrets }: Deployment): DeploymentNow {
  return { source, source_config, source_revision_config, secrets: secrets.map(({ name }) => name) };
}

/**
 * The checks of the revision that a failed release restores first: those that it passed (design, "What restoring
 * means"). Empty if it is not verified, or if its checks were not kept or cannot be read here.
 * @param active - the serving revision; `null`: none.
 * @param known - the revisions that the target knows, oldest first.
 */
export async function restoredChecks(
  store: ArtifactStore,
  active: string | null,
  known: readonly KnownRevision[],
): Promise<readonly Check[]> {
  const wordOn = (id: string | undefined | null): KnownRevision | undefined =>
    known.findLast(({ revisionId }) => revisionId === id);
  const baseline = { revisionId: active, verified: wordOn(active)?.verified ?? false };
  const [first] = restoreCandidates({ to: undefined, baseline, known, avoid: [] });
  const digest = wordOn(first?.revisionId)?.checks;
  if (first?.verified !== true || digest === undefined) return [];
  return readKeptChecks(store, digest).catch(onSlipwayError(() => []));
}

const NEW_TARGET: TargetView = { state: EMPTY_TARGET, running: null };

function askTarget(context: CommandContext, workflowId: string): Promise<TargetView | SlipwayError> {
  return withTemporal(context, async (temporal) => {
    const view = await viewTarget(temporal, workflowId);
    // A release on a new target needs a worker, too.
    if (view === undefined) await requireWorker(temporal);
    return view ?? NEW_TARGET;
  }).catch(onSlipwayError((error) => error));
}

/** A target's deployment; `null` if there is none yet; an error if the control plane did not answer. */
function askDeployment(
  context: CommandContext,
  spec: TargetSpec,
  signal: AbortSignal,
): Promise<Deployment | null | SlipwayError> {
  return readDeployment(context, spec, signal).catch(
    onSlipwayError((error) => {
      // The control plane answered: it has no deployment of that name.
      const isMissing = error.code === 'SLIPWAY_NOT_FOUND' && !(error instanceof ServiceError);
      return isMissing && spec.deploymentId === undefined ? null : error;
    }),
  );
}
