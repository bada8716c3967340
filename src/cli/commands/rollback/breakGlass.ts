import { errorText } from '@slipway/contract/codedError';

import { type ControlPlaneClient, isNewestFirst, isSameSource } from '../../../clients/controlPlane.ts';
import { notOffered, ServiceError } from '../../../clients/serviceError.ts';
import type { Actor } from '../../../domain/actor.ts';
import { copyMadeElsewhere, originalOf, revisionPhase } from '../../../domain/deployment/revision.ts';
import { findRevision, isRevisionId } from '../../../domain/deployment/revisionName.ts';
import { SlipwayError } from '../../../domain/errors.ts';
import { redeployCommand } from '../../../domain/release/instructions.ts';
import { previousVerified } from '../../../domain/restore/restoreDecision.ts';
import type { KnownRevision } from '../../../domain/release/release.ts';
import type { TargetSpec } from '../../../domain/target/targetSpec.ts';
import {
  type Deployment,
  findDeployment,
  withControlPlane,
} from '../../../inspection/deployment/deploymentAccess.ts';
import { pause } from '../../../temporal/client/pause.ts';
import type { CommandContext } from '../../context.ts';
import { UNFOLLOWED } from '../../follow/followToEnd.ts';
import { GAVE_UP, printGaveUp } from '../../follow/stopFollowing.ts';
import { retryBusy } from '../../retryBusy.ts';
import { removeLocalHold, writeLocalHold } from '../target/localHold.ts';

interface BreakGlassOrder {
  readonly target: TargetSpec;
  /** A revision, the beginning of its id, or a release. Default: the newest good one before the active one. */
  readonly to: string | undefined;
  readonly requestedBy: Actor;
  /** Reads a deployment's recorded revisions, oldest first. */
  readonly recorded: (deploymentId: string) => Promise<readonly KnownRevision[]>;
  /** `false`: return once the control plane has accepted the redeploy. */
  readonly wait: boolean;
  /** How long to wait for the revision, in milliseconds. */
  readonly timeoutMs: number;
}

type Retry = <T>(call: () => Promise<T>) => Promise<T>;

const POLL_MS = 500;

/**
 * Restores a revision without Temporal: calls redeploy on the control plane and waits until the revision serves. First
 * leaves a hold on this machine, so that no release replaces it. Does not run checks. Ctrl-C before it changes nothing.
 * @returns the exit code: 0 when it serves, or without waiting; 3 when it failed, 5 when the time ran out.
 * @throws SlipwayError if nothing was changed: the control plane's errors, SLIPWAY_NOTHING_TO_RESTORE, SLIPWAY_USAGE.
 */
export async function breakGlass(
  context: CommandContext,
  order: BreakGlassOrder,
  signal: AbortSignal,
): Promise<number> {
  const { output, home } = context;
  const { target, requestedBy } = order;
  return withControlPlane(context, target, async (client) => {
    const retry: Retry = (call) => retryBusy(context, call, signal);
    const before = await retry(() => findDeployment(client, target));
    const to = await retry(() => chooseRevision(client, before, order));
    signal.throwIfAborted();
    const since = new Date().toISOString();
    const hold = { target: target.name, since, by: requestedBy, to };
    // A full disk or a damaged hold must not prevent the rollback.
    const held = await writeLocalHold(home, target, hold).catch(errorText);
    const command = redeployCommand(target, before.id, to);
    const activeRevisionId = before.active_revision_id ?? null;
    output.event({ event: 'break_glass', deploymentId: before.id, activeRevisionId, to, command });
    output.print(`Restoring revision ${to} without Temporal. The same by hand:`);
    output.print(`  ${command}`);
    if (typeof held === 'boolean') {
      output.print(
        `"${target.name}" is on hold on this machine, in ${home}, until: slipway unhold ${target.name}`,
      );
    } else {
      output.warn(
        `"${target.name}" may not be on hold on this machine: the hold could not be written: ${held}`,
      );
    }

    const followed = await redeploy(client, before, to, retry, async () => {
      // Nothing was restored, so this rollback's hold is removed again.
      if (held === true) await removeLocalHold(home, target);
      output.warn('rejected: nothing was changed, and the hold is as it was before');
    });
    const see = `GET ${target.controlPlane}/v2/deployments/${before.id}`;
    if (order.wait) return awaitServing(context, client, { ...order, before, followed, see }, signal);
    output.print(`the control plane accepted the redeploy. See: ${see}`);
    return 0;
  });
}

/** The revision that the person named, else the previous good one. A whole id needs no records. */
async function chooseRevision(
  client: ControlPlaneClient,
  deployment: Deployment,
  { to, recorded }: BreakGlassOrder,
): Promise<string> {
  const known = to !== undefined && isRevisionId(to) ? [] : await recorded(deployment.id);
  if (to === undefined) {
    const { active_revision_id: active, latest_revision_id: latestRevisionId } = deployment;
    const latestTarballPath = deployment.source_revision_config.source_tarball_path ?? null;
    const serving = { activeRevisionId: active ?? null, latestRevisionId, latestTarballPath };
    return previousGood(client, deployment, [...known, ...copyMadeElsewhere(known, serving)]);
  }
  const meant = findRevision({ known, history: [] }, to);
  if ('problem' in meant) {
    const hint = 'the names come from the records in the artifact store; without a record, name a whole id';
    throw new SlipwayError('SLIPWAY_USAGE', meant.problem, { place: deployment.id, hint });
  }
  return 'askFor' in meant ? meant.askFor : meant.revisionId;
}

/**
 * The newest revision before the active one's original that is known to be good; if none is known, the newest one that was
 * deployed and is not known to be bad. If it is known which revision the active one's release replaced, no newer one.
 */
async function previousGood(
  client: ControlPlaneClient,
  deployment: Deployment,
  known: readonly KnownRevision[],
): Promise<string> {
  const active = deployment.active_revision_id ?? null;
  const original = originalOf(known, active ?? '');
  const replaced = known.find(({ revisionId }) => revisionId === active)?.replaced;
  const isGood = ({ verified, quarantined }: KnownRevision): boolean => verified && quarantined !== true;
  const good = new Map(known.map((revision) => [revision.revisionId, isGood(revision)]));
  const isAnyGood = [...good.values()].includes(true);
  let previous: string | undefined;
  let isBefore = active === null;
  let why = 'the deployment has no earlier revision that was deployed and is not known to be bad';
  let last: Awaited<ReturnType<ControlPlaneClient['getRevision']>> | undefined;
  try {
    for await (const revision of client.eachRevision(deployment.id)) {
      if (last !== undefined && !isNewestFirst([last, revision])) {
        previous = previousVerified(known, active);
        why = 'the control plane does not list the newest revisions first, and the records name no good one';
        break;
      }
      last = revision;
      const { id, status } = revision;
      isBefore ||= id === replaced;
      if (isBefore && id !== active && revisionPhase(status) === 'deployed') {
        if (good.get(id) === true) return id;
        if (good.get(id) === undefined) previous ??= id;
        if (previous !== undefined && !isAnyGood) break;
      }
      isBefore ||= replaced === undefined && id === original;
    }
  } catch (error) {
    if (!notOffered(error)) throw error;
    previous = previousVerified(known, active);
    why = 'the control plane lists no revisions, and the records name no good revision before the active one';
  }
  if (previous !== undefined) return previous;
  const hint = 'name the revision with --to';
  throw new SlipwayError('SLIPWAY_NOTHING_TO_RESTORE', why, { place: deployment.id, hint });
}

/**
 * @returns the revision to follow: the new one if the redeploy created one, else the requested one (design, rule 3).
 */
async function redeploy(
  client: ControlPlaneClient,
  before: Deployment,
  to: string,
  retry: Retry,
  onRefused: () => Promise<void>,
): Promise<string> {
  const madeBy = (after: Deployment): string | undefined =>
    after.latest_revision_id !== null && after.latest_revision_id !== before.latest_revision_id
      ? after.latest_revision_id
      : undefined;
  try {
    return madeBy(await retry(() => client.redeployRevision(before.id, to))) ?? to;
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    if (!error.mayHaveBeenTaken) {
      await onRefused();
      throw error;
    }
    // The outcome of the redeploy is unknown, so read the deployment.
    const after = await retry(() => client.getDeployment(before.id));
    const made = madeBy(after);
    if (made !== undefined) return made;
    if (after.active_revision_id === to && before.active_revision_id !== to) return to;
    const what = 'the control plane did not answer whether it accepted the redeploy';
    const hint = 'run the same command again: a second redeploy of the same revision does no harm';
    throw new SlipwayError('SLIPWAY_OUTCOME_UNKNOWN', what, { place: before.id, hint, cause: error });
  }
}

async function awaitServing(
  { output }: CommandContext,
  client: ControlPlaneClient,
  order: BreakGlassOrder & { readonly before: Deployment; readonly followed: string; readonly see: string },
  signal: AbortSignal,
): Promise<number> {
  const { before, followed, timeoutMs, see } = order;
  const { id: deploymentId, latest_revision_id: latestBefore } = before;
  const deadline = Date.now() + timeoutMs;
  let lastStatus = '';
  let lastProblem = '';
  while (Date.now() < deadline && !signal.aborted) {
    try {
      const revision = await client.getRevision(deploymentId, followed);
      if (revision.status !== lastStatus) {
        lastStatus = revision.status;
        output.event({ event: 'revision', revisionId: followed, status: revision.status });
        output.info(`  revision ${followed}: ${revision.status}`);
      }
      const phase = revisionPhase(revision.status);
      if (phase === 'failed') {
        return ended(output, 'rollback_failed', 3, `revision ${followed} ended ${revision.status}`);
      }
      if (phase === 'deployed') {
        const { active_revision_id: active, ...now } = await client.getDeployment(deploymentId);
        const { latest_revision_id: latest, source_revision_config: source } = now;
        // The answer to the redeploy may have lagged behind the copy that it made.
        const isNew = latest !== null && latest !== latestBefore && latest === active;
        const isCopy = isNew && isSameSource(source, revision.source_revision_config);
        if (active === followed || isCopy) {
          return ended(output, 'rolled_back', 0, `revision ${active} serves again; its checks were not run`);
        }
      }
    } catch (error) {
      // The redeploy was accepted. A failed read may succeed on the next poll.
      if (!(error instanceof ServiceError)) throw error;
      if (error.message !== lastProblem) output.warn(`  ${error.message}`);
      lastProblem = error.message;
    }
    await pause(POLL_MS, signal);
  }
  printGaveUp(output, signal.aborted ? 'stopped' : 'timeout', see, 'the redeploy continues');
  return GAVE_UP;
}

function ended(
  output: CommandContext['output'],
  outcome: 'rolled_back' | 'rollback_failed',
  exitCode: number,
  reason: string,
): number {
  output.event({ event: 'ended', releaseId: null, outcome, reason, exitCode, ...UNFOLLOWED });
  output.print(`${output.style.mark(exitCode === 0)} ${outcome.replaceAll('_', ' ')}: ${reason}`);
  return exitCode;
}
