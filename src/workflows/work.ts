import { defineSearchAttributeKey, TypedSearchAttributes } from '@temporalio/common';
import {
  ApplicationFailure,
  ChildWorkflowFailure,
  type ChildWorkflowHandle,
  ParentClosePolicy,
  startChild,
  workflowInfo,
} from '@temporalio/workflow';

import { describeArtifact } from '../domain/artifact.ts';
import { type ReleaseRequest, type ReleaseResult } from '../domain/release.ts';
import { SEARCH_ATTRIBUTES, type SearchAttributeName } from '../domain/searchAttributes.ts';
import { type NextWork, type Running, type TargetState } from '../domain/targetState.ts';
import { now } from './journal.ts';
import { release } from './release.ts';
import { rollback } from './rollback.ts';

/** A release or a rollback that runs as a child of its target. */
export type WorkHandle = ChildWorkflowHandle<typeof release | typeof rollback>;

/** Where a piece of work runs, as it is told to those who ask. */
export function describeWork(work: NextWork): Running {
  return {
    releaseId: work.releaseId,
    kind: work.kind,
    requestKey: work.kind === 'release' ? work.request.requestKey : null,
    workflowId: `${workflowInfo().workflowId}/${work.releaseId}`,
    to: work.kind === 'rollback' ? (work.request.to ?? null) : null,
  };
}

/** Starts a piece of work as a child of the target, under an id that tells the target and its number. */
export async function startWork(work: NextWork, state: TargetState, workflowId: string): Promise<WorkHandle> {
  const { releaseId } = work;
  const lastRequest = work.kind === 'release' ? work.request : state.lastRequest;
  if (lastRequest === null) throw ApplicationFailure.nonRetryable('a rollback without any release before it');
  const common = {
    workflowId,
    // A target that is terminated by hand leaves no release behind that nobody holds the lock for: it is canceled,
    // and what it changed is put back.
    parentClosePolicy: ParentClosePolicy.REQUEST_CANCEL,
    staticSummary: `${releaseId} on ${lastRequest.target.name}`,
    typedSearchAttributes: new TypedSearchAttributes([
      { key: keyword(SEARCH_ATTRIBUTES.target), value: lastRequest.target.name },
      { key: keyword(SEARCH_ATTRIBUTES.outcome), value: 'running' },
      ...(work.kind === 'release' ? artifactAttributes(work.request) : []),
    ]),
  };
  if (work.kind === 'release') {
    return startChild(release, {
      ...common,
      args: [{ releaseId, request: work.request, known: state.known }],
    });
  }
  return startChild(rollback, {
    ...common,
    args: [{ releaseId, request: work.request, lastRequest, known: state.known }],
  });
}

function artifactAttributes(request: ReleaseRequest): { key: ReturnType<typeof keyword>; value: string }[] {
  const attributes = [
    { key: keyword(SEARCH_ATTRIBUTES.artifact), value: describeArtifact(request.artifact) },
  ];
  if (request.commit !== undefined) {
    attributes.push({ key: keyword(SEARCH_ATTRIBUTES.commit), value: request.commit });
  }
  return attributes;
}

function keyword(name: SearchAttributeName) {
  return defineSearchAttributeKey(name, 'KEYWORD');
}

/** Awaits the child. One that was terminated or broke could not tell what it did: a person is needed. */
export async function resultOf(child: WorkHandle, work: NextWork): Promise<ReleaseResult> {
  const startedAt = now();
  try {
    return await child.result();
  } catch (error) {
    const cause = error instanceof ChildWorkflowFailure ? error.cause : error;
    const message = cause instanceof Error ? cause.message : String(cause);
    return {
      releaseId: work.releaseId,
      kind: work.kind,
      target: work.kind === 'release' ? work.request.target.name : '',
      deploymentId: null,
      artifact: work.kind === 'release' ? describeArtifact(work.request.artifact) : null,
      commit: work.kind === 'release' ? (work.request.commit ?? null) : null,
      requestKey: work.kind === 'release' ? work.request.requestKey : null,
      outcome: 'errored',
      reason: `its workflow ended without a result: ${message}`,
      code: 'SLIPWAY_INTERNAL',
      instructions: null,
      revisionId: null,
      baseline: null,
      servingRevisionId: null,
      servingVerified: false,
      extraRevisionIds: [],
      givenUpRevisionIds: [],
      knownRevisions: [],
      agentUrl: null,
      steps: [],
      verdicts: [],
      requestedBy: work.request.requestedBy,
      preemptedBy: null,
      startedAt,
      endedAt: now(),
    };
  }
}
