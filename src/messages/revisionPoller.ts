import { defineSignal } from './define.ts';

import { isRecord } from '../domain/scalars.ts';
import type { TargetSpec } from '../domain/target/targetSpec.ts';

/** A release or a rollback that waits until its revision is deployed or has failed. */
export interface WaitingRevision {
  readonly workflowId: string;
  readonly deploymentId: string;
  readonly revisionId: string;
  /** The last status that it knows: only a change is reported. */
  readonly status: string;
  /** When it began to wait, in milliseconds since 1970. The longer ago, the less often it is polled. */
  readonly since: number;
  /** The deadline of the wait, in milliseconds since 1970. */
  readonly until: number;
}

/** A revision's status: the control plane's, or {@link UNREADABLE}. */
export interface RevisionStatus {
  readonly revisionId: string;
  readonly status: string;
}

/** The status of a revision that cannot be read at all. The waiting workflow finds out why. */
export const UNREADABLE = 'unreadable';

/** The input of a control plane's poller. */
export interface RevisionPollerInput {
  readonly target: TargetSpec;
  /** Default: none. */
  readonly waiting?: readonly WaitingRevision[];
}

/** To the poller: also poll this revision. */
export const awaitRevisionSignal = defineSignal<[WaitingRevision]>('awaitRevision');
/** From the poller to a release or a rollback: the status of its revision has changed. */
export const revisionStatusSignal = defineSignal<[RevisionStatus]>('revisionStatus');

/** A unique key of a waiting revision. */
export function waitingKey({ workflowId, revisionId }: WaitingRevision): string {
  return `${workflowId} ${revisionId}`;
}

/** Reads a release's signal to the poller; `undefined` if it is invalid. */
export function readWaitingRevision(raw: unknown): WaitingRevision | undefined {
  if (!isRecord(raw)) return undefined;
  const { workflowId, deploymentId, revisionId, status, since, until } = raw;
  if (typeof workflowId !== 'string' || typeof status !== 'string') return undefined;
  if (typeof since !== 'number' || typeof until !== 'number') return undefined;
  if (typeof deploymentId !== 'string' || typeof revisionId !== 'string') return undefined;
  return { workflowId, deploymentId, revisionId, status, since, until };
}

/** Reads the poller's signal; `undefined` if it is invalid. */
export function readRevisionStatus(raw: unknown): RevisionStatus | undefined {
  if (!isRecord(raw)) return undefined;
  const { revisionId, status } = raw;
  return typeof revisionId === 'string' && typeof status === 'string' ? { revisionId, status } : undefined;
}
