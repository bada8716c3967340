import { whoAndWhy } from '../actor.ts';
import type { DeploymentSnapshot } from '../deployment/revision.ts';
import type { Instant } from '../scalars.ts';
import type { Hold, Running, TargetState } from '../target/targetState.ts';

/** The targets that a promotion has to do with, as they are seen at one moment. */
export interface Line {
  readonly from: TargetSeen;
  readonly to: TargetSeen;
  readonly downstream: readonly TargetSeen[];
}

/** What is promoted: what serves on `from`, and is verified. */
export interface Candidate {
  /** Its identity, which is that of its content. */
  readonly artifact: string;
  readonly revisionId: string;
  readonly deploymentId: string;
  readonly agentUrl: string;
  /** ISO 8601. */
  readonly verifiedAt: string;
  readonly commit: string | null;
  /** When the commit was made. Absent: not known. */
  readonly committedAt?: Instant;
  /** Who released it on `from`; `null` if unknown. */
  readonly releasedBy: string | null;
}

/** What a promotion begins with, or why it ends at once. */
export type Choice =
  | { readonly kind: 'candidate'; readonly candidate: Candidate }
  | { readonly kind: 'nothing_to_do' | 'rejected'; readonly reason: string };

/** Chooses what is promoted. */
export function chooseCandidate(line: Line): Choice {
  const { from, to } = line;
  const stopped = stoppedLine(line);
  if (stopped !== undefined) return rejected(stopped);
  const { servingRevisionId: revisionId, artifact, deploymentId, agentUrl, verifiedAt } = from;
  if (!from.known) return rejected(`"${from.name}" has never taken a release`);
  if (revisionId === null || deploymentId === null) return rejected(`nothing serves on "${from.name}"`);
  if (verifiedAt === null)
    return rejected(`revision ${revisionId}, which serves on "${from.name}", is not verified`);
  if (artifact === null)
    return rejected(`revision ${revisionId} was not shipped from here: its artifact is not known`);
  if (agentUrl === null) return rejected(`the agent's address on "${from.name}" is not known`);
  if (!isPinned(artifact)) return rejected(`${artifact} is a name that may come to mean something else`);
  if (to.quarantined.includes(artifact)) return rejected(`"${to.name}" has the artifact in quarantine`);
  if (to.artifact === artifact) {
    return { kind: 'nothing_to_do', reason: `"${to.name}" runs ${shortIdentity(artifact)} already` };
  }
  const { commit, committedAt, releasedBy } = from;
  const candidate = {
    artifact,
    revisionId,
    deploymentId,
    agentUrl,
    verifiedAt,
    commit,
    committedAt,
    releasedBy,
  };
  return { kind: 'candidate', candidate };
}

/** What became of a candidate while time passed. */
export type Confirmation =
  | { readonly kind: 'stands' }
  | { readonly kind: 'superseded' | 'rejected'; readonly reason: string }
  /** `to` was changed by hand: a person is asked. */
  | { readonly kind: 'changed_by_hand'; readonly reason: string };

/** Whether a candidate still is to be promoted. `before`: what served on `to` when it was chosen. */
export function confirmCandidate(candidate: Candidate, before: string | null, line: Line): Confirmation {
  const { from, to } = line;
  if (from.servingRevisionId !== candidate.revisionId)
    return { kind: 'superseded', reason: whySuperseded(from) };
  if (from.verifiedAt === null) {
    return { kind: 'superseded', reason: `the candidate is not verified on "${from.name}" any more` };
  }
  const stopped = stoppedLine(line);
  if (stopped !== undefined) return { kind: 'rejected', reason: stopped };
  const serves = to.servingRevisionId;
  if (serves === before && (!to.known || to.activeRevisionId === null || to.activeRevisionId === serves)) {
    return { kind: 'stands' };
  }
  const revision = `revision ${serves ?? 'none'}`;
  if (to.activeRevisionId === serves && to.known) {
    return { kind: 'superseded', reason: `${revision} was released on "${to.name}" meanwhile` };
  }
  const known = to.activeRevisionId ?? before ?? 'none';
  const reason = `"${to.name}" was changed by hand: ${revision} serves instead of ${known}`;
  return { kind: 'changed_by_hand', reason };
}

/** Why a candidate does not serve on its target any more. */
export function whySuperseded(from: TargetSeen): string {
  if (from.hold !== null) {
    return `the candidate was taken off "${from.name}" by ${whoAndWhy(from.hold.by)}`;
  }
  return `revision ${from.servingRevisionId ?? 'none'} serves on "${from.name}" instead of the candidate`;
}

/** Why the line is stopped: if a target is on hold, nothing moves towards it, from however far. */
function stoppedLine({ to, downstream }: Pick<Line, 'to' | 'downstream'>): string | undefined {
  const held = [to, ...downstream].find((target) => target.hold !== null);
  if (held?.hold == null) return undefined;
  const { since, by } = held.hold;
  return `the line is stopped: "${held.name}" is on hold since ${since}, set by ${whoAndWhy(by)}`;
}

/** An artifact's identity as people read it. */
export function shortIdentity(artifact: string): string {
  return artifact.startsWith('sha256:') ? artifact.slice(0, 'sha256:'.length + 12) : artifact;
}

/** A tarball's digest and an image's digest always mean the same; a tag and a branch do not. */
function isPinned(artifact: string): boolean {
  return /^sha256:[0-9a-f]{64}$/.test(artifact) || /^image:.+@sha256:[0-9a-f]{64}$/.test(artifact);
}

function rejected(reason: string): Choice {
  return { kind: 'rejected', reason };
}

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
  /** When the commit was made. Absent: not known. */
  readonly committedAt?: Instant;
  /** Who released it. */
  readonly releasedBy: string | null;
  /** The artifacts that it does not take any more. */
  readonly quarantined: readonly string[];
}

/**
 * Sees a target.
 * @param answer - of its workflow; `null`: it has never taken a release.
 * @param deployment - of its control plane; `null`: there is none, or it was not asked.
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
    committedAt: row?.committedAt,
    releasedBy: row?.requestedBy.who ?? null,
    quarantined: (state?.quarantined ?? []).map(({ artifact }) => artifact),
  };
}
