import type { DeploymentSnapshot } from '../deployment/revision.ts';
import type { Hold, Running, TargetState } from '../target/targetState.ts';

/** What a promotion sees of one target: what its workflow says, and what its control plane says. */
export interface TargetSeen {
  readonly name: string;
  /** Whether it has ever taken a release. */
  readonly known: boolean;
  readonly hold: Hold | null;
  /** The release or rollback that runs. */
  readonly running: string | null;
  /** The revision that serves, as the target knows it. */
  readonly activeRevisionId: string | null;
  /** The revision that serves, as the control plane says. `null`: none. */
  readonly servingRevisionId: string | null;
  readonly deploymentId: string | null;
  readonly agentUrl: string | null;
  /** When what serves was verified: ISO 8601; `null` where it is not, or a person rolled back from it. */
  readonly verifiedAt: string | null;
  /** The identity of the artifact that serves; `null` where it was not shipped from here. */
  readonly artifact: string | null;
  readonly commit: string | null;
  /** Who released it. */
  readonly releasedBy: string | null;
  /** The artifacts that it does not take any more. */
  readonly quarantined: readonly string[];
}

/**
 * Sees a target.
 *
 * @param answer - what its workflow answers; `null` where it has never taken a release.
 * @param deployment - as its control plane answers; `null` where there is none, or it was not asked.
 */
export function seeTarget(
  name: string,
  answer: { readonly state: TargetState; readonly running: Running | null } | null,
  deployment: DeploymentSnapshot | null,
  agentUrl: string | undefined,
): TargetSeen {
  const state = answer?.state;
  const activeRevisionId = state?.activeRevisionId ?? null;
  const servingRevisionId = deployment?.activeRevisionId ?? null;
  const serves = servingRevisionId ?? activeRevisionId;
  const revision = state?.known.find(({ revisionId }) => revisionId === serves);
  const row = state?.history.findLast(
    ({ revisionId, kind, outcome }) => revisionId === serves && kind === 'release' && outcome === 'released',
  );
  return {
    name,
    known: answer !== null,
    hold: state?.hold ?? null,
    running: answer?.running?.releaseId ?? null,
    activeRevisionId,
    servingRevisionId,
    deploymentId: deployment?.deploymentId ?? null,
    agentUrl: agentUrl ?? deployment?.agentUrl ?? null,
    verifiedAt: revision?.verified === true && revision.quarantined === undefined ? revision.at : null,
    artifact: revision?.artifact ?? null,
    commit: row?.commit ?? null,
    releasedBy: row?.requestedBy.who ?? null,
    quarantined: (state?.quarantined ?? []).map(({ artifact }) => artifact),
  };
}
