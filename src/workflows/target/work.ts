import { TypedSearchAttributes } from '@temporalio/common';
import {
  ApplicationFailure,
  ChildWorkflowCancellationType,
  ChildWorkflowFailure,
  type ExternalWorkflowHandle,
  getExternalWorkflowHandle,
  ParentClosePolicy,
  startChild,
  workflowInfo,
} from '@temporalio/workflow';

import { describeArtifact } from '../../domain/artifact/artifact.ts';
import { isInForce } from '../../domain/guard/guarding.ts';
import type { ReleaseRequest, ReleaseResult } from '../../domain/release/release.ts';
import { attribute } from '../../domain/searchAttributes.ts';
import { lateBaselines } from '../../domain/target/lateRevisions.ts';
import type { NextWork, Running, TargetState } from '../../domain/target/targetState.ts';
import { workflowResult } from '../../domain/workflowResult.ts';
import { WORKFLOW_TASK_TIMEOUT_MS } from '../../messages/workflowTypes.ts';
import { explain } from '../failure.ts';
import { now } from '../journal.ts';
import { emptyConclusion, instructionsAfter } from '../release/conclude.ts';
import { release } from '../release/release.ts';
import { rollback } from '../rollback/rollback.ts';
import { activitiesOf, shortSummary } from '../steps.ts';

export interface WorkHandle extends Pick<ExternalWorkflowHandle, 'signal'> {
  result(): Promise<unknown>;
}

export function runningOf(work: NextWork): Running {
  return {
    releaseId: work.releaseId,
    kind: work.kind,
    requestKey: work.kind === 'release' ? work.request.requestKey : null,
    workflowId: `${workflowInfo().workflowId}/${work.releaseId}`,
    to: work.kind === 'rollback' ? (work.request.to ?? null) : null,
    restores: work.kind === 'release' ? work.restores : undefined,
  };
}

/** Starts a release or a rollback as a child workflow, whose id contains the target's id and the release's number. */
export async function startWork(work: NextWork, state: TargetState, workflowId: string): Promise<WorkHandle> {
  const { releaseId } = work;
  const { known, lastGood } = state;
  const lastRequest = work.kind === 'release' ? work.request : state.lastRequest;
  if (lastRequest === null) throw ApplicationFailure.nonRetryable('a rollback without any release before it');
  const common = {
    workflowId,
    workflowTaskTimeout: WORKFLOW_TASK_TIMEOUT_MS,
    // If a person terminates the target, its release would run without the lock. So Temporal cancels the release,
    // which restores what it changed.
    parentClosePolicy: ParentClosePolicy.REQUEST_CANCEL,
    // If a reset ends this life of the target, the child keeps running and the next life waits for it.
    cancellationType: ChildWorkflowCancellationType.ABANDON,
    staticSummary: shortSummary(`${releaseId} on ${lastRequest.target.name}`),
    typedSearchAttributes: new TypedSearchAttributes([
      attribute('target', lastRequest.target.name),
      attribute('outcome', 'running'),
      ...(work.kind === 'release' ? artifactAttributes(work.request) : []),
    ]),
  };
  const { owns, activeRevisionId } = state;
  const expected = activeRevisionId ?? undefined;
  const lent = { releaseId, known, knownIn: owns, lastGood, owns, expected };
  return work.kind === 'release'
    ? startChild(release, {
        ...common,
        args: [
          {
            ...lent,
            late: lateBaselines(state),
            request: work.request,
            queuedAt: work.queuedAt,
            endsGuard: isInForce(state.guard) || undefined,
          },
        ],
      })
    : startChild(rollback, { ...common, args: [{ ...lent, request: work.request, lastRequest }] });
}

/** A handle of work that an earlier run started: no child of this run, so an activity waits for its result. */
export function adoptWork(workflowId: string): WorkHandle {
  const external = getExternalWorkflowHandle(workflowId);
  return {
    signal: (signal, ...args) => external.signal(signal, ...args),
    result: async () =>
      (await activitiesOf('promote', {}, `await ${workflowId}`).awaitWork({ workflowId })).result,
  };
}

function artifactAttributes(request: ReleaseRequest): ReturnType<typeof attribute>[] {
  const { artifact, commit } = request;
  return [
    attribute('artifact', describeArtifact(artifact)),
    ...(commit === undefined ? [] : [attribute('commit', commit)]),
  ];
}

/** Awaits the child's result. If the child was terminated or failed, its effect is unknown and a person is needed. */
export async function resultOf(
  child: WorkHandle,
  work: NextWork,
  { spec, known }: TargetState,
): Promise<ReleaseResult> {
  const startedAt = now();
  try {
    return await workflowResult(child);
  } catch (error) {
    const { message } = explain(error instanceof ChildWorkflowFailure ? error.cause : error);
    const reason = `its workflow ended without a result: ${message}`;
    const ending = { outcome: 'errored', reason, code: 'SLIPWAY_INTERNAL' } as const;
    const target = work.kind === 'release' ? work.request.target : spec;
    return {
      ...emptyConclusion(target?.name ?? '', work.request),
      releaseId: work.releaseId,
      kind: work.kind,
      ...ending,
      instructions:
        target === null
          ? null
          : instructionsAfter({ target, deploymentId: null, baseline: null, known }, ending),
      baseline: null,
      steps: [],
      verdicts: [],
      interventions: [],
      startedAt,
      endedAt: now(),
    };
  }
}
