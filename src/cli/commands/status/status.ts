import { pick } from '@slipway/contract/pick';

import { loadConfig, type Project } from '../../../config/loadConfig.ts';
import type { ActivityFact } from '../../../domain/audit/facts.ts';
import { SlipwayError } from '../../../domain/errors.ts';
import { pastOfWork } from '../../../domain/release/pastRelease.ts';
import { describeRevision } from '../../../domain/target/describeRevision.ts';
import { EMPTY_TARGET, waitingRollbacks } from '../../../domain/target/targetState.ts';
import type { DeploymentSeen } from '../../../inspection/deployment/deploymentAccess.ts';
import { approvalsOf } from '../../../temporal/client/hooks/targetHooks.ts';
import type { TemporalConnection } from '../../../temporal/client/connection.ts';
import type { CommandContext, FileOptions } from '../../context.ts';
import type { EventOf } from '../../events/index.ts';
import { withTemporal } from '../../openTemporal.ts';
import { wrapLine } from '../../ui/text.ts';
import { LINE_INDENT } from '../../ui/underWayLines.ts';
import { promotionLines, type PromotionStatus, promotionStatuses } from '../promotion/promotionStatus.ts';
import { type ChosenTarget, chooseTargetSpecs } from '../target/targetAccess.ts';
import { statusLines, UNKNOWN_FIELDS } from './statusLines.ts';
import { type TargetStatus, targetStatus, type Unanswered } from './targetStatus.ts';

/**
 * `slipway status [TARGET]`: prints the running and queued releases, the serving revision, any hold, and the last
 * releases; then the promotions to it. Without a name: every target of the file. If no worker answers, it prints what
 * Temporal and the control plane know, and ends with an error.
 */
export async function runStatusCommand(
  context: CommandContext,
  wanted: string | undefined,
  options: FileOptions & { readonly last: number },
): Promise<void> {
  const file = await loadConfig(options.config);
  const { targets, problem } = await chooseTargetSpecs(context, file, wanted);
  return withTemporal(context, async (temporal) => {
    await printStatus(context, temporal, { config: file.config, targets }, options.last);
    if (problem !== undefined) throw problem;
  });
}

/** @throws SlipwayError after the status of all targets and promotions, if one does not answer. */
export async function printStatus(
  context: CommandContext,
  temporal: TemporalConnection,
  { config, targets }: Pick<Project, 'config'> & { readonly targets: readonly ChosenTarget[] },
  last: number,
): Promise<void> {
  const { output } = context;
  const print = (lines: readonly string[]): void => {
    for (const line of lines.flatMap((text) => wrapLine(text, output.columns(), LINE_INDENT)))
      output.print(line);
  };
  /** That no worker answers, which holds for all targets. */
  let silence: SlipwayError | undefined;
  let problem: SlipwayError | undefined;
  for (const target of targets) {
    const status = await targetStatus(context, temporal, target, { last, silence });
    const why = status.unanswered?.silence;
    if (why?.code === 'SLIPWAY_NO_WORKER') silence = why;
    else problem ??= why;
    problem ??= status.holdProblem;
    output.event(statusEvent(status, last));
    print(statusLines(status, last, output.screen()));
  }
  const specs = new Map(targets.map(({ name, spec }) => [name, spec]));
  for (const status of await promotionStatuses({ config }, temporal, specs, silence === undefined)) {
    output.event(promotionEvent(status));
    // Its steps are wrapped, not cut.
    print(promotionLines(status, { ...output.screen(), columns: Infinity }));
    if (status.view.state === 'unreadable') problem ??= status.view.problem;
  }
  const failed = silence ?? problem;
  if (failed !== undefined) throw failed;
}

function statusEvent(status: TargetStatus, last: number): EventOf<'status'> {
  const { view, progress, localHold, deployment } = status;
  if (status.unanswered !== undefined) return unansweredEvent(status, status.unanswered);
  const { state, running } = view ?? { state: EMPTY_TARGET, running: null };
  const lastKnown = state.activeRevisionId;
  const serves = activeRevisionId(deployment, lastKnown);
  return {
    event: 'status',
    ...pick(status, 'target', 'workflowId', 'workflowUrl', 'dashboardUrl'),
    from: status.recordedAt === undefined ? 'target' : 'record',
    known: view !== undefined,
    recordedAt: status.recordedAt,
    running,
    progress: progress ?? null,
    whyNoProgress: status.whyNoProgress,
    call: status.call,
    buildLog: status.buildLog,
    queue: state.queue.map(({ releaseId, queuedAt, request }) => ({
      releaseId,
      queuedAt,
      requestKey: request.requestKey,
      commit: request.commit ?? null,
      requestedBy: request.requestedBy,
    })),
    rollbacks: waitingRollbacks(state, running),
    localHold: localHold ?? null,
    activeRevisionId: serves,
    lastKnownRevisionId: lastKnown,
    deployment: typeof deployment === 'string' ? null : deployment,
    serving: serves === null ? null : describeRevision(state, running, progress, serves),
    history: state.history.slice(-last),
    ...pick(state, 'hold', 'ignored', 'said', 'quarantined', 'drift', 'needsPerson'),
    undelivered: state.undelivered ?? [],
    hookApprovals: approvalsOf(status.hooks),
    guard: state.guard === undefined ? null : { ...state.guard, measured: status.measured },
  };
}

function activeRevisionId(deployment: DeploymentSeen | string, known: string | null): string | null {
  return typeof deployment === 'string' ? known : deployment.activeRevisionId;
}

/** Fields that only a worker knows are left out: `null` would mean that there is none. */
function unansweredEvent(status: TargetStatus, { kept }: Unanswered): EventOf<'status'> {
  const { localHold, deployment } = status;
  const shared = {
    event: 'status',
    ...pick(status, 'target', 'workflowId', 'workflowUrl', 'dashboardUrl'),
    from: 'temporal',
    known: true,
    localHold: localHold ?? null,
    deployment: typeof deployment === 'string' ? null : deployment,
  } as const;
  if (kept instanceof SlipwayError) {
    return {
      ...shared,
      activeRevisionId: activeRevisionId(deployment, null),
      lastKnownRevisionId: null,
      problem: pick(kept, 'code', 'message'),
      unknown: ['running', 'history', 'messages', ...UNKNOWN_FIELDS],
    };
  }
  const { running, servingRevisionId, ended, messages } = kept;
  return {
    ...shared,
    running:
      running === null
        ? null
        : { ...pastOfWork(running), workflowId: running.workflowId, calls: running.activities.map(callOf) },
    activeRevisionId: activeRevisionId(deployment, servingRevisionId),
    lastKnownRevisionId: servingRevisionId,
    history: ended,
    messages,
    unknown: UNKNOWN_FIELDS,
  };
}

function callOf({ name, scheduledAt, endedAt, outcome }: ActivityFact) {
  return {
    name,
    scheduledAt: new Date(scheduledAt).toISOString(),
    endedAt: endedAt === null ? null : new Date(endedAt).toISOString(),
    outcome,
  };
}

function promotionEvent({ view, schedule, ...status }: PromotionStatus): EventOf<'promotion_status'> {
  return {
    event: 'promotion_status',
    ...status,
    state: view.state,
    progress: view.state === 'running' ? (view.progress ?? null) : null,
    last: view.state === 'ended' ? view.result : null,
    schedule:
      schedule === undefined
        ? null
        : { ...schedule.schedule, paused: schedule.paused, note: schedule.note, next: schedule.next },
    problem: view.state === 'unreadable' ? pick(view.problem, 'code', 'message') : undefined,
  };
}
