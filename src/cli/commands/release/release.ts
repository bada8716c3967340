import { openArtifactStore } from '../../../artifact/openArtifactStore.ts';
import { loadConfig, type Project } from '../../../config/loadConfig.ts';
import type { Actor } from '../../../domain/actor.ts';
import { artifactIdentity, describeArtifact, shortCommit } from '../../../domain/artifact/artifact.ts';
import { pageLink, releaseAddress } from '../../../domain/dashboard/addresses.ts';
import { SlipwayError } from '../../../domain/errors.ts';
import { outcomeExitCode } from '../../../domain/release/outcome.ts';
import type { ReleaseRequest } from '../../../domain/release/release.ts';
import { plannedAnswer } from '../../../domain/release/releasePlan.ts';
import { type TargetSpec, targetWorkflowId } from '../../../domain/target/targetSpec.ts';
import type { ReleaseAnswer } from '../../../domain/target/targetState.ts';
import { stopRelease } from '../../../temporal/client/intervention/interventionClient.ts';
import { submitRelease, viewTarget } from '../../../temporal/client/target/targetClient.ts';
import { requireEachVersion } from '../../../temporal/client/workerPresence.ts';
import { describeSpan } from '../../../traces/trace.ts';
import { followInCi } from '../../ci/followInCi.ts';
import { reportInCi } from '../../ci/reportInCi.ts';
import type { CommandContext, FileOptions } from '../../context.ts';
import { type FollowedToEnd, UNFOLLOWED } from '../../follow/followToEnd.ts';
import { abortOnInterrupt } from '../../follow/stopFollowing.ts';
import { commandProver } from '../../identity.ts';
import type { Output } from '../../output.ts';
import { readRequester } from '../../provenance.ts';
import { type Session, withSession } from '../../session.ts';
import { onPageLines } from '../../ui/endingText.ts';
import { announceFreezes, noteJoined } from '../../ui/freezes.ts';
import { counted, sizeText } from '../../ui/text.ts';
import { printProblems } from '../lint/problemLines.ts';
import { describeHold, readLocalHold } from '../target/localHold.ts';
import { type ChosenTarget, chooseTargetSpec } from '../target/targetAccess.ts';
import { releaseRequest, sourceFacts, type SourceFacts, storeArtifact } from './releaseRequest.ts';

interface ReleaseOptions extends FileOptions, Omit<ReleaseOrder, 'file' | 'target' | 'origin' | 'submit'> {}

/** `slipway release [TARGET]`: packs the source, sends it to the target, and follows the release to its end. */
export async function runReleaseCommand(
  context: CommandContext,
  wanted: string | undefined,
  options: ReleaseOptions,
): Promise<number> {
  const file = await loadConfig(options.config);
  printProblems(context.output, file.warnings, 'note');
  const target = await chooseTargetSpec(context, file, wanted);
  // Git runs while the command connects to Temporal.
  const origin = readOrigin(context, { file, target, reason: options.reason });
  const order = { ...options, file, target, origin };
  return withSession(context, async (session) => (await releaseTarget(session, order)).exitCode);
}

interface ReleaseOrder {
  readonly file: Project;
  readonly target: ChosenTarget;
  readonly reason?: string | undefined;
  /** Default: read from CI and git. */
  readonly origin?: Promise<readonly [Actor, SourceFacts]>;
  readonly overrideHold?: boolean;
  /** Refuse a source that contains a suspected secret, instead of warning. */
  readonly strict?: boolean;
  readonly overrideFreeze?: boolean;
  /** `false`: return once the release is queued. */
  readonly wait: boolean;
  readonly timeout: number;
  /** Ctrl-C aborts the release. Default: it only ends the following. */
  readonly abortOnInterrupt?: boolean;
  /** Sends the request to what releases it. Default: to the target. */
  readonly submit?: (request: ReleaseRequest) => Promise<ReleaseAnswer>;
}

function readOrigin(
  context: CommandContext,
  { file, target, reason }: Pick<ReleaseOrder, 'file' | 'target' | 'reason'>,
): Promise<readonly [Actor, SourceFacts]> {
  return Promise.all([
    readRequester(context, file.folder, reason),
    sourceFacts(context.environment, file, target.settings.notify),
  ]);
}

/**
 * Packs a source, sends it to its target, and follows the release to its end.
 * @throws SlipwayError before anything is started: SLIPWAY_TARGET_ON_HOLD, SLIPWAY_TARGET_FROZEN,
 * SLIPWAY_ARTIFACT_…, SLIPWAY_DATASET_…, SLIPWAY_NO_WORKER, SLIPWAY_TEMPORAL_UNREACHABLE.
 */
export async function releaseTarget(session: Session, order: ReleaseOrder): Promise<FollowedToEnd> {
  const { output, temporal, signal } = session;
  const { name, workflowId } = order.target;
  const request = await prepareRequest(session, order);
  signal.throwIfAborted();
  const answer = await (order.submit?.(request) ?? submitRelease(temporal, request));
  const { releaseId, disposition, reason } = answer;
  const dashboardUrl = pageLink(temporal.settings.dashboard, releaseAddress(workflowId, releaseId));
  describeSpan({ 'slipway.release': releaseId, 'slipway.target': name, 'slipway.disposition': disposition });
  output.event({
    event: 'submitted',
    releaseId,
    disposition,
    reason,
    target: name,
    workflowId,
    requestKey: request.requestKey,
    dashboardUrl,
  });
  if (disposition === 'rejected') return printRejected(session, name, request, answer, dashboardUrl);
  if (disposition === 'joined' && request.overrideFreeze === true) noteJoined(output, name);
  const words = disposition.replaceAll('_', ' ');
  const taken = `${output.style.strong(releaseId)}: ${words}, ${reason}`;
  const onPage = onPageLines(dashboardUrl);
  if (!order.wait) {
    const follow = disposition === 'already_released' ? [] : [`Follow it: slipway watch ${name}`];
    const next = [...follow, ...onPage];
    for (const line of [taken, ...next]) output.print(line);
    await reportInCi(session, {
      exitCode: 0,
      title: `${releaseId} on ${name}: ${words}`,
      why: [reason, ...next],
      outputs: { 'release-id': releaseId },
    });
    return { exitCode: 0, ending: undefined };
  }
  for (const line of [taken, ...onPage]) output.info(line);
  return followRelease(session, order, request, releaseId);
}

function followRelease(
  session: Session,
  { target: { name, spec, workflowId }, timeout: timeoutMs, abortOnInterrupt: aborts }: ReleaseOrder,
  { requestedBy }: ReleaseRequest,
  releaseId: string,
): Promise<FollowedToEnd> {
  const abort = {
    id: releaseId,
    command: `slipway abort ${name} --release ${releaseId}`,
    requestedBy,
    ask: (by: Actor) => stopRelease(session.temporal, workflowId, releaseId, by),
  };
  const onStopped = aborts === true ? () => abortOnInterrupt(session.output, abort) : undefined;
  const followed = { id: releaseId, asked: 'release', targetName: name, spec, workflowId } as const;
  return followInCi(session, { ...followed, timeoutMs, onStopped });
}

/** Packs the source and stores it. Refuses first what the target would reject. */
async function prepareRequest(session: Session, order: ReleaseOrder): Promise<ReleaseRequest> {
  const { output, temporal, signal } = session;
  const { file, reason, strict = false, overrideHold = false, overrideFreeze = false } = order;
  const { name, settings, spec } = order.target;
  await refuseOnLocalHold(session, spec, overrideHold);
  const frozen = announceFreezes(output, name, settings.freezes ?? [], { overrideFreeze, reason });
  // This is before packing, which takes a while, so that a missing worker is reported at once.
  const [[requestedBy, source]] = await Promise.all([
    order.origin ?? readOrigin(session, order),
    requireEachVersion(temporal),
  ]);
  const stored = await storeArtifact(session, file, { name, settings }, strict, signal);
  const { artifact, recordStore, checks, entries = null } = stored;
  const asked = releaseRequest(
    { ...settings, ...source, checks },
    {
      target: spec,
      artifact,
      recordStore,
      requestedBy,
      overrideHold: overrideHold || undefined,
      overrideFreeze: overrideFreeze || undefined,
    },
  );
  if (frozen !== undefined && !(await joins(session, order.target.workflowId, asked))) throw frozen;
  const request = await withProof(session, asked);
  printPrepared(output, name, request, entries);
  return request;
}

/** Whether the target has the same release already, which a freeze that has begun since does not refuse. */
async function joins({ temporal }: Session, workflowId: string, request: ReleaseRequest): Promise<boolean> {
  const view = await viewTarget(temporal, workflowId);
  if (view === undefined) return false;
  const { disposition } = plannedAnswer(view, request, undefined);
  return disposition === 'joined' || disposition === 'already_released';
}

async function printRejected(
  context: CommandContext,
  target: string,
  { artifact, target: spec }: ReleaseRequest,
  { releaseId, reason, rejectedFor }: ReleaseAnswer,
  dashboardUrl: string | null,
): Promise<FollowedToEnd> {
  const { output } = context;
  const hints: string[] = [];
  if (rejectedFor === 'hold') hints.push(endOfHold(spec));
  if (rejectedFor === 'quarantine')
    hints.push(`"slipway unquarantine ${target} ${artifactIdentity(artifact)}" unblocks it`);
  output.print(output.style.bad(`${releaseId} was rejected: ${reason}`));
  for (const hint of hints) output.note(`  ${hint}`);
  const exitCode = outcomeExitCode('release', 'rejected');
  const ended = { releaseId, outcome: 'rejected', reason, exitCode } as const;
  output.event({ event: 'ended', ...ended, ...UNFOLLOWED, dashboardUrl });
  await reportInCi(context, {
    exitCode,
    title: `${releaseId} on ${target}: rejected`,
    why: [reason, ...hints],
    outputs: { 'release-id': releaseId, outcome: 'rejected' },
  });
  return { exitCode, ending: undefined };
}

async function withProof(context: CommandContext, request: ReleaseRequest): Promise<ReleaseRequest> {
  const { target, requestKey: requestId, recordStore, approval } = request;
  const prove = commandProver(context, approval, () => openArtifactStore(recordStore));
  const statement = { action: 'release', workflowId: targetWorkflowId(target), requestId } as const;
  const identity = await prove?.(statement);
  return identity === undefined ? request : { ...request, identity };
}

/** A hold that exists only on this machine also blocks the release. */
async function refuseOnLocalHold(
  { output, home }: CommandContext,
  target: TargetSpec,
  override: boolean,
): Promise<void> {
  const hold = await readLocalHold(home, target);
  if (hold === undefined) return;
  if (override) {
    output.warn(`"${target.name}" is ${describeHold(hold)}; this release overrides the hold`);
    return;
  }
  const hint = endOfHold(target);
  throw new SlipwayError('SLIPWAY_TARGET_ON_HOLD', `"${target.name}" is ${describeHold(hold)}`, { hint });
}

function endOfHold({ name, preview }: TargetSpec): string {
  const end = `"slipway unhold ${name}" ends the hold`;
  // `slipway preview` has no such option.
  return preview === true ? end : `${end}; --override-hold releases during the hold`;
}

function printPrepared(
  output: Output,
  target: string,
  { artifact, commit, checks }: ReleaseRequest,
  entries: number | null,
): void {
  const { kind } = artifact;
  const sizeBytes = kind === 'tarball' ? artifact.sizeBytes : null;
  const contents = { artifact: artifactIdentity(artifact), sizeBytes, entries };
  output.event({ event: 'artifact', kind, ...contents, commit: commit ?? null });
  const size = sizeBytes === null ? '' : ` (${sizeText(sizeBytes)}, ${counted(entries ?? 0, 'file')})`;
  const at = commit === undefined ? '' : `, commit ${shortCommit(commit)}`;
  output.info(`Releasing ${describeArtifact(artifact)}${size}${at} on ${output.style.strong(target)}`);
  if (checks.length === 0) {
    output.warn('slipway.yaml has no checks: a revision counts as verified once it serves');
  }
}
