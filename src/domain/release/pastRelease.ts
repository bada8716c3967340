import { pick } from '@slipway/contract/pick';

import type { Actor } from '../actor.ts';
import { type RestoreSpan, restoreSpanOf } from '../delivery/restoreSpan.ts';
import { artifactIdentity } from '../artifact/artifact.ts';
import type { WorkFact } from '../audit/facts.ts';
import type { ErrorCode } from '../errors.ts';
import type { Instant } from '../scalars.ts';
import type { HistoryRow } from '../target/targetState.ts';
import type { Outcome } from './outcome.ts';
import { ENDED_FIELDS, type ReleaseRequest, type ReleaseResult, type RollbackRequest } from './release.ts';

/** A past release or rollback of a target. */
export interface PastRelease {
  readonly releaseId: string;
  readonly kind: 'release' | 'rollback';
  /** `running`: it has not ended. `stopped`: its workflow was terminated in Temporal. */
  readonly outcome: Outcome | 'running' | 'stopped';
  readonly reason: string | null;
  /** The code of the failure that ended it; `null`: nothing failed, or it has not ended. */
  readonly code: ErrorCode | null;
  /** `null`: not known, because no worker answers. */
  readonly startedAt: Instant | null;
  /** `null`: it has not ended. */
  readonly endedAt: Instant | null;
  /** The artifact's identity, or the beginning of its digest. */
  readonly artifact: string | null;
  readonly commit: string | null;
  /** The revision that it made. */
  readonly revisionId: string | null;
  /** The revision that served when it ended. */
  readonly servingRevisionId: string | null;
  readonly requestedBy: Actor;
  /** When its commit was made. Absent: not known. */
  readonly committedAt?: Instant;
  /** The restore of an earlier revision. Absent: none succeeded, or not known. */
  readonly restore?: RestoreSpan;
}

export function pastOfRow(row: HistoryRow): PastRelease {
  return { ...endOf(row), startedAt: row.startedAt ?? null, restore: row.restore };
}

/** A release from its own Temporal history, which needs no worker. */
export function pastOfWork(work: WorkFact): PastRelease {
  const { workflowId, kind, result, ended } = work;
  const startedAt = new Date(work.startedAt).toISOString();
  const { artifact, commit, committedAt, requestedBy } = asked(work.request);
  // A result contains only the beginning of the artifact's digest.
  if (result !== null) return { ...pastOfResult(result), startedAt, artifact: artifact ?? result.artifact };
  return {
    releaseId: workflowId.slice(workflowId.lastIndexOf('/') + 1),
    kind,
    outcome: ended === 'running' ? 'running' : 'stopped',
    code: null,
    reason: ended === 'running' ? null : `its workflow was ended from outside: ${ended.replaceAll('_', ' ')}`,
    startedAt,
    endedAt: work.endedAt === null ? null : new Date(work.endedAt).toISOString(),
    artifact,
    commit,
    committedAt,
    revisionId: null,
    servingRevisionId: null,
    requestedBy,
  };
}

export function pastOfResult(result: ReleaseResult): PastRelease {
  return { ...endOf(result), startedAt: result.startedAt, restore: restoreSpanOf(result) };
}

/** The fields that a row and a record have in common. */
function endOf(ended: HistoryRow | ReleaseResult): Omit<PastRelease, 'startedAt' | 'restore'> {
  return { ...pick(ended, ...ENDED_FIELDS), code: ended.code ?? null };
}

function asked(
  request: ReleaseRequest | RollbackRequest,
): Pick<PastRelease, 'artifact' | 'commit' | 'committedAt' | 'requestedBy'> {
  const { requestedBy } = request;
  if (!('artifact' in request)) return { artifact: null, commit: null, requestedBy };
  const { artifact, commit = null, committedAt } = request;
  return { artifact: artifactIdentity(artifact), commit, committedAt, requestedBy };
}
