import { defineSignal } from './define.ts';

import type { TargetSpec } from '../domain/target/targetSpec.ts';
import { isRecord } from './fields.ts';

/** A release or a rollback that waits until its revision is deployed or has failed. */
export interface WaitingRevision {
  /** The workflow that waits. */
  readonly workflowId: string;
  readonly deploymentId: string;
  readonly revisionId: string;
  /** What was seen last: only a change is reported. */
  readonly status: string;
  /** When it began to wait, in milliseconds since 1970: the longer ago, the less often it is looked at. */
  readonly since: number;
  /** Until when a release waits for it, in milliseconds since 1970. */
  readonly until: number;
}

/** A revision's status: the control plane's, or {@link UNREADABLE}. */
export interface RevisionStatus {
  readonly revisionId: string;
  readonly status: string;
}

/** The status of a revision that cannot be read, for good: the workflow that waits finds out why. */
export const UNREADABLE = 'unreadable';

/** What the poller of a control plane starts from. */
export interface RevisionPollerInput {
  /** Says how the control plane is asked. */
  readonly target: TargetSpec;
  /** Default: none yet. */
  readonly waiting?: readonly WaitingRevision[];
}

/** To the poller: look at this revision, too. */
export const awaitRevisionSignal = defineSignal<[WaitingRevision]>('awaitRevision');
/** To a release or a rollback, from the poller: its revision's status has changed. */
export const revisionStatusSignal = defineSignal<[RevisionStatus]>('revisionStatus');

/** Names one that waits. */
export function waitingKey({ workflowId, revisionId }: WaitingRevision): string {
  return `${workflowId} ${revisionId}`;
}

/** Reads what a release asks of the poller; `undefined` if it says nothing of use. */
export function readWaitingRevision(raw: unknown): WaitingRevision | undefined {
  if (!isRecord(raw)) return undefined;
  const { workflowId, deploymentId, revisionId, status, since, until } = raw;
  if (typeof workflowId !== 'string' || typeof status !== 'string') return undefined;
  if (typeof since !== 'number' || typeof until !== 'number') return undefined;
  if (typeof deploymentId !== 'string' || typeof revisionId !== 'string') return undefined;
  return { workflowId, deploymentId, revisionId, status, since, until };
}

/** Reads what the poller reports; `undefined` if it says nothing of use. */
export function readRevisionStatus(raw: unknown): RevisionStatus | undefined {
  if (!isRecord(raw)) return undefined;
  const { revisionId, status } = raw;
  return typeof revisionId === 'string' && typeof status === 'string' ? { revisionId, status } : undefined;
}
