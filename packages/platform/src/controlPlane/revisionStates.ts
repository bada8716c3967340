import { RevisionStatus as ContractStatus } from '@slipway/contract/controlPlane/revision';

/** The statuses of a revision on this platform: those of the contract, but that here a status is never unknown. */
const Status = ContractStatus.exclude(['UNKNOWN']);
/** One of {@link REVISION_STATUSES}. */
export type RevisionStatus = (typeof Status.options)[number];
/** Every status that a revision can have here. */
export const REVISION_STATUSES: readonly RevisionStatus[] = Status.options;

/** What happens to a revision. */
export type RevisionEvent =
  /** Its row and its configuration are durable. */
  | 'created'
  /** What it is to be built from cannot be had. */
  | 'createFailed'
  /** It is the one of its deployment whose turn it is. */
  | 'admitted'
  /** A build slot is free. */
  | 'buildStarted'
  | 'built'
  | 'buildFailed'
  | 'deployStarted'
  /** Its agent answers and the gateway has switched to it. */
  | 'deployed'
  | 'deployFailed'
  /** A newer one took its place while it waited. */
  | 'superseded'
  /** A request for another revision took its place, and it goes on serving as it did. */
  | 'keptServing'
  /** It was stopped half done, on purpose or because it was taken up too often. */
  | 'interrupted'
  /** The platform stopped while it was half done: it goes back to its last durable step. */
  | 'takenUpAgain'
  /** A person or a release asked for it again. */
  | 'redeployRequested'
  /** Its built directory is gone: it has to be built again before it can be deployed. */
  | 'buildMissing';

/**
 * Which status follows which, by what happened. What is not in the table does not happen: a revision never leaves
 * `CREATE_FAILED`, because there was nothing to build it from. `redeployRequested` also takes that the revision was
 * built once: that is asked before.
 */
export const TRANSITIONS: Readonly<Record<RevisionStatus, Partial<Record<RevisionEvent, RevisionStatus>>>> = {
  CREATING: {
    created: 'QUEUED',
    createFailed: 'CREATE_FAILED',
    superseded: 'SKIPPED',
    interrupted: 'INTERRUPTED',
  },
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
  CREATE_FAILED: {},
  BUILD_FAILED: { redeployRequested: 'AWAITING_DEPLOY' },
};

/** The status after an event, or undefined where that event does not happen to a revision of this status. */
export function nextStatus(status: RevisionStatus, event: RevisionEvent): RevisionStatus | undefined {
  return TRANSITIONS[status][event];
}

/** Whether a revision of this status has nothing more to come by itself. */
export function isSettled(status: RevisionStatus): boolean {
  return !isWaiting(status) && !isInProgress(status);
}

/** Whether it waits for its turn: nothing has been started for it. */
export function isWaiting(status: RevisionStatus): boolean {
  return ['CREATING', 'QUEUED', 'AWAITING_BUILD', 'AWAITING_DEPLOY'].includes(status);
}

/** Whether something runs for it right now. */
export function isInProgress(status: RevisionStatus): boolean {
  return status === 'BUILDING' || status === 'DEPLOYING';
}
