import type { Actor } from '../../../src/domain/actor.ts';
import type { PastRelease } from '../../../src/domain/release/pastRelease.ts';
import type {
  KnownRevision,
  ReleaseRequest,
  ReleaseResult,
  RollbackRequest,
} from '../../../src/domain/release/release.ts';
import { EMPTY_TARGET, type Running, type TargetState } from '../../../src/domain/target/targetState.ts';

export const NOW = '2026-01-01T00:00:00.000Z';
export const ADA: Actor = { who: 'ada', from: 'test', reason: 'a reason' };

export function request(key: string, changes: Partial<ReleaseRequest> = {}): ReleaseRequest {
  return {
    requestKey: key,
    target: {
      name: 'production',
      controlPlane: 'https://control.test',
      apiKey: { from: 'env:KEY' },
      deployment: 'agent',
      source: 'internal_source',
      sourceConfig: {},
    },
    artifact: { kind: 'tarball', digest: `sha256:${key}`, sizeBytes: 1, store: 'file:///store' },
    graphConfigPath: 'graph.json',
    checks: [],
    steps: {},
    soakMs: 0,
    queue: 'latest',
    recordStore: 'file:///records',
    requestedBy: ADA,
    ...changes,
  };
}

export function rollback(requestId: string, to?: string): RollbackRequest {
  return { requestId, to, requestedBy: ADA };
}

/** The running work, identified by its id. */
export function runs(releaseId: string, changes: Partial<Running> = {}): Running {
  return {
    releaseId,
    kind: releaseId.startsWith('rollback') ? 'rollback' : 'release',
    requestKey: null,
    workflowId: `target/${releaseId}`,
    to: null,
    ...changes,
  };
}

/** A target that has taken a release before. */
export function seasoned(changes: Partial<TargetState> = {}): TargetState {
  const last = request('last');
  return { ...EMPTY_TARGET, spec: last.target, lastRequest: last, nextNumber: 2, ...changes };
}

export function result(releaseId: string, changes: Partial<ReleaseResult> = {}): ReleaseResult {
  return {
    releaseId,
    kind: releaseId.startsWith('rollback') ? 'rollback' : 'release',
    target: 'production',
    deploymentId: 'deployment',
    artifact: 'sha256:x',
    commit: null,
    requestKey: 'key',
    outcome: 'released',
    reason: 'all went well',
    code: null,
    instructions: null,
    revisionId: 'new',
    baseline: null,
    servingRevisionId: 'new',
    servingVerified: true,
    extraRevisionIds: [],
    givenUpRevisionIds: [],
    knownRevisions: [],
    agentUrl: null,
    steps: [],
    verdicts: [],
    requestedBy: ADA,
    preemptedBy: null,
    interventions: [],
    startedAt: NOW,
    endedAt: NOW,
    ...changes,
  };
}

export function past(releaseId: string, changes: Partial<PastRelease> = {}): PastRelease {
  return {
    releaseId,
    kind: 'release',
    outcome: 'released',
    reason: null,
    code: null,
    startedAt: null,
    endedAt: NOW,
    artifact: null,
    commit: null,
    revisionId: null,
    servingRevisionId: null,
    requestedBy: ADA,
    ...changes,
  };
}

export function verified(revisionId: string): KnownRevision {
  return { revisionId, verified: true, at: NOW };
}
