import { RevisionStatus as ContractStatus } from '@slipway/contract/controlPlane/revision';

/** The statuses of a revision on this platform: the contract's, without those that no revision here has. */
const Status = ContractStatus.exclude(['UNKNOWN', 'CREATE_FAILED']);
export type RevisionStatus = (typeof Status.options)[number];
/** Every status that a revision can have on this platform. */
export const REVISION_STATUSES: readonly RevisionStatus[] = Status.options;

export type RevisionEvent =
  /** Its row and configuration are stored. */
  | 'created'
  /** It is the revision of its deployment to process next. */
  | 'admitted'
  /** A build slot is free. */
  | 'buildStarted'
  | 'built'
  | 'buildFailed'
  | 'deployStarted'
  /** Its agent answers, and the gateway sends requests to it. */
  | 'deployed'
  | 'deployFailed'
  /** A newer revision replaced it while it waited. */
  | 'superseded'
  /** A request for another revision replaced its redeploy, and it keeps serving. */
  | 'keptServing'
  /** It was stopped before its end, on request or because it was resumed too often. */
  | 'interrupted'
  /** The platform stopped before its end: it returns to its last durable step. */
  | 'takenUpAgain'
  /** A person or a release requested it again. */
  | 'redeployRequested'
  /** Its built directory is gone: it must be built again before it can be deployed. */
  | 'buildMissing';

/**
 * The next status, by status and event. Other combinations do not occur. `redeployRequested` also requires that the
 * revision was built once; the caller checks that.
 */
export const TRANSITIONS: Readonly<Record<RevisionStatus, Partial<Record<RevisionEvent, RevisionStatus>>>> = {
  CREATING: { created: 'QUEUED', superseded: 'SKIPPED', interrupted: 'INTERRUPTED' },
  QUEUED: { admitted: 'AWAITING_BUILD', superseded: 'SKIPPED', interrupted: 'INTERRUPTED' },
  AWAITING_BUILD: {
    buildStarted: 'BUILDING',
    superseded: 'SKIPPED',
    keptServing: 'DEPLOYED',
    interrupted: 'INTERRUPTED',
  },
  BUILDING: {
    built: 'AWAITING_DEPLOY',
    buildFailed: 'BUILD_FAILED',
    interrupted: 'INTERRUPTED',
    keptServing: 'DEPLOYED',
    takenUpAgain: 'AWAITING_BUILD',
  },
  AWAITING_DEPLOY: {
    deployStarted: 'DEPLOYING',
    deployFailed: 'DEPLOY_FAILED',
    buildMissing: 'AWAITING_BUILD',
    superseded: 'SKIPPED',
    keptServing: 'DEPLOYED',
    interrupted: 'INTERRUPTED',
  },
  DEPLOYING: {
    deployed: 'DEPLOYED',
    deployFailed: 'DEPLOY_FAILED',
    interrupted: 'INTERRUPTED',
    keptServing: 'DEPLOYED',
    takenUpAgain: 'AWAITING_DEPLOY',
  },
  DEPLOYED: { redeployRequested: 'AWAITING_DEPLOY' },
  DEPLOY_FAILED: { redeployRequested: 'AWAITING_DEPLOY' },
  INTERRUPTED: { redeployRequested: 'AWAITING_DEPLOY' },
  SKIPPED: { redeployRequested: 'AWAITING_DEPLOY' },
  BUILD_FAILED: { redeployRequested: 'AWAITING_DEPLOY' },
};

/** The status after an event, or undefined if the event does not apply to this status. */
export function nextStatus(status: RevisionStatus, event: RevisionEvent): RevisionStatus | undefined {
  return TRANSITIONS[status][event];
}

/** Whether a revision with this status does not change without a request. */
export function isSettled(status: RevisionStatus): boolean {
  return !isWaiting(status) && !isInProgress(status);
}

/** The statuses that change without a request. */
export const UNSETTLED_STATUSES = REVISION_STATUSES.filter((status) => !isSettled(status));

/** Whether it waits for its turn, and no work runs for it. */
export function isWaiting(status: RevisionStatus): boolean {
  return ['CREATING', 'QUEUED', 'AWAITING_BUILD', 'AWAITING_DEPLOY'].includes(status);
}

/** Whether work runs for it. */
export function isInProgress(status: RevisionStatus): boolean {
  return status === 'BUILDING' || status === 'DEPLOYING';
}
