import { pageLink, targetAddress } from '../../../domain/dashboard/addresses.ts';
import { onSlipwayError, SlipwayError } from '../../../domain/errors.ts';
import { endGuard, type GuardReport } from '../../../domain/guard/guarding.ts';
import type { RunningCall, UnderWay } from '../../../domain/heartbeat.ts';
import type { Progress } from '../../../domain/release/release.ts';
import { newestBuildLines } from '../../../inspection/deployment/revisionLog.ts';
import { type DeploymentSeen, seeDeployment } from '../../../inspection/deployment/deploymentAccess.ts';
import type { TargetView } from '../../../messages/target.ts';
import type { TemporalConnection } from '../../../temporal/client/connection.ts';
import { seeGuard } from '../../../temporal/client/guard/guardClient.ts';
import { type TargetHook, viewTargetHooks } from '../../../temporal/client/hooks/targetHooks.ts';
import { readRunningCall } from '../../../temporal/client/release/pastReleases.ts';
import { isUnanswered, readProgress, viewTarget } from '../../../temporal/client/target/targetClient.ts';
import { whyNoAnswer } from '../../../temporal/client/workerPresence.ts';
import { ifSealed } from '../../../temporal/client/temporalError.ts';
import { workflowPage } from '../../../temporal/client/temporalSettings.ts';
import { type KeptTarget, readKeptTarget } from '../../../temporal/history/keptTarget.ts';
import type { CommandContext } from '../../context.ts';
import type { EventOf } from '../../events/index.ts';
import { readForgotten } from '../target/forgottenTarget.ts';
import { type LocalHold, readLocalHold } from '../target/localHold.ts';
import type { ChosenTarget } from '../target/targetAccess.ts';

export interface TargetStatus
  extends UnderWay, Pick<EventOf<'status'>, 'target' | 'workflowId' | 'workflowUrl' | 'dashboardUrl'> {
  /** The target's own state; `undefined` if it has never accepted a release, or no worker answers. */
  readonly view: TargetView | undefined;
  /** When the state was stored, if Temporal no longer has the target. */
  readonly recordedAt?: string;
  readonly progress: Progress | undefined;
  readonly localHold: LocalHold | undefined;
  /** Why the hold on this machine cannot be read. Absent: it can, or there is none. */
  readonly holdProblem?: SlipwayError;
  /** What the guard of the last release measured last; `null` if it measures nothing. */
  readonly measured: RunningCall | null;
  readonly hooks: readonly TargetHook[];
  /** The control plane's answer about the deployment, or a sentence about why there is none. */
  readonly deployment: DeploymentSeen | string;
  /** Why the running release does not answer, and the next command. Absent: it does, or nothing runs. */
  readonly whyNoProgress?: string | undefined;
  /** What is known without the target; absent if the target answered. */
  readonly unanswered?: Unanswered;
}

export interface Unanswered {
  /** The error: SLIPWAY_NO_WORKER, SLIPWAY_WORKFLOW_STUCK, SLIPWAY_TARGET_UNREADABLE, SLIPWAY_PAYLOAD_KEY_MISSING. */
  readonly silence: SlipwayError;
  /** What Temporal keeps; the error if the key of its payloads is missing. */
  readonly kept: KeptTarget | SlipwayError;
}

interface StatusQuestion {
  readonly last: number;
  /** Set if it is already known that no worker answers: the request does not wait for one again. */
  readonly silence: SlipwayError | undefined;
}

/**
 * Reads everything known about a target, from the target itself or, if no worker answers, from Temporal and the control
 * plane.
 */
export async function targetStatus(
  context: CommandContext,
  temporal: TemporalConnection,
  chosen: Omit<ChosenTarget, 'settings'>,
  { last, silence: known }: StatusQuestion,
): Promise<TargetStatus> {
  const { name: target, spec, workflowId } = chosen;
  const hold = await readLocalHold(context.home, spec).catch(unreadableHold);
  const holdProblem = hold instanceof SlipwayError ? hold : undefined;
  const localHold = hold instanceof SlipwayError ? undefined : hold;
  const asked = known ?? (await askTarget(temporal, workflowId));
  const links = {
    dashboardUrl: pageLink(temporal.settings.dashboard, targetAddress(workflowId)),
    workflowUrl: workflowPage(temporal.settings, workflowId),
  };
  const unread = {
    view: undefined,
    progress: undefined,
    measured: null,
    hooks: [],
    call: null,
    buildLog: [],
  };
  const status = { target, workflowId, localHold, holdProblem, ...unread, ...links };
  const deploymentUnread = 'the target has never taken a release';
  const nothing = { ...status, dashboardUrl: null, workflowUrl: null, deployment: deploymentUnread };
  if (asked === undefined) {
    const recorded = await readForgotten(context, chosen);
    if (recorded === undefined) return nothing;
    const view = { state: recorded.state, running: null };
    return { ...nothing, view, recordedAt: recorded.at, deployment: await seeDeployment(context, spec) };
  }
  if (!(asked instanceof SlipwayError))
    return { ...status, ...(await readAround(context, temporal, chosen, asked)) };
  const [kept, deployment] = await Promise.all([
    readKeptTarget(temporal, workflowId, last).catch(sealed),
    seeDeployment(context, spec),
  ]);
  if (kept === undefined) return nothing;
  return { ...status, deployment, unanswered: { silence: asked, kept } };
}

type Answered = Pick<TargetStatus, 'progress' | 'whyNoProgress'> & { readonly view: TargetView };

/** The answer of a target, with what others know about it: its control plane, its guard, its hooks, its running release. */
async function readAround(
  context: CommandContext,
  temporal: TemporalConnection,
  { spec, workflowId }: Pick<ChosenTarget, 'spec' | 'workflowId'>,
  { view, progress, whyNoProgress }: Answered,
): Promise<Omit<TargetStatus, 'target' | 'workflowId' | 'workflowUrl' | 'dashboardUrl' | 'localHold'>> {
  const { running } = view;
  const { guard } = view.state;
  const [deployment, call, buildLog, seen, hooks] = await Promise.all([
    seeDeployment(context, spec),
    running === null ? null : readRunningCall(temporal, running.workflowId),
    progress === undefined ? [] : newestBuildLines(context, spec, progress),
    guard === undefined || guard.ended !== undefined ? undefined : seeGuard(temporal, guard.workflowId),
    viewTargetHooks(temporal, workflowId),
  ]);
  return {
    view: withReport(view, seen?.report ?? null),
    progress,
    whyNoProgress,
    deployment,
    buildLog,
    hooks,
    measured: seen?.measured ?? null,
    call: call ?? progress?.found ?? null,
  };
}

/** A target's view with the report of its guard, which may have ended without a message to the target. */
function withReport(view: TargetView, report: GuardReport | null): TargetView {
  const { state } = view;
  const { since = 0 } = state.guarded ?? {};
  // The guard may be about to begin again: then the report is that of the run before.
  if (report === null || Date.parse(report.at) < since) return view;
  return { ...view, state: { ...state, guard: endGuard(state, { ...report, since }) } };
}

async function askTarget(
  temporal: TemporalConnection,
  workflowId: string,
): Promise<Answered | SlipwayError | undefined> {
  try {
    const view = await viewTarget(temporal, workflowId);
    if (view === undefined) return undefined;
    const { running } = view;
    if (running === null) return { view, progress: undefined };
    const progress = await readProgress(temporal, running.workflowId);
    if (progress !== undefined) return { view, progress };
    const why = await whyNoAnswer(temporal, running.workflowId);
    return { view, progress, whyNoProgress: why === undefined ? NO_PROGRESS : `${why.message}: ${why.hint}` };
  } catch (error) {
    if (isUnanswered(error)) return error;
    return sealed(error);
  }
}

const NO_PROGRESS = 'no worker reports its progress; see why: slipway doctor';

const sealed = ifSealed((error) => error);

const unreadableHold = onSlipwayError((error) => error, 'SLIPWAY_TARGET_ON_HOLD');
