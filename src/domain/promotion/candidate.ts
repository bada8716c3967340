import { pick } from '@slipway/contract/pick';

import { type Actor, whoAndWhy } from '../actor.ts';
import { isPinned, shortArtifact } from '../artifact/artifact.ts';
import { type DeploymentSnapshot, isSameRevision, withCopies } from '../deployment/revision.ts';
import type { KnownRevision, RollbackRequest } from '../release/release.ts';
import { exactText, type Instant } from '../scalars.ts';
import { EMPTY_TARGET, type Hold, type Running, type TargetState } from '../target/targetState.ts';

/** The targets of a promotion at one moment. */
export interface PromotionTargets {
  readonly from: TargetSeen;
  readonly to: TargetSeen;
  readonly downstream: readonly TargetSeen[];
}

/** What to promote: the verified artifact that serves on `from`. */
export interface Candidate extends Pick<TargetSeen, 'commit' | 'committedAt' | 'releasedBy'> {
  /** The identity of its content. */
  readonly artifact: string;
  readonly revisionId: string;
  readonly deploymentId: string;
  readonly agentUrl: string;
  /** ISO 8601. */
  readonly verifiedAt: string;
}

/** The candidate of a promotion, or why the promotion ends at once. */
export type Choice =
  | { readonly kind: 'candidate'; readonly candidate: Candidate }
  | { readonly kind: 'nothing_to_do' | 'rejected'; readonly reason: string };

export function chooseCandidate({ from, to, downstream }: PromotionTargets): Choice {
  const stopped = whyStopped([to, ...downstream]);
  if (stopped !== undefined) return rejected(stopped);
  const { servingRevisionId: revisionId, artifact, deploymentId, agentUrl, verifiedAt } = from;
  if (!from.known) return rejected(`"${from.name}" has never taken a release`);
  if (revisionId === null || deploymentId === null) return rejected(`nothing serves on "${from.name}"`);
  if (verifiedAt === null) {
    const why = from.servesQuarantined === true ? 'is in quarantine' : 'is not verified';
    return rejected(`revision ${revisionId}, which serves on "${from.name}", ${why}`);
  }
  if (artifact === null)
    return rejected(`revision ${revisionId} was not shipped from here: its artifact is not known`);
  if (agentUrl === null) return rejected(`the agent's address on "${from.name}" is not known`);
  if (!isPinned(artifact)) return rejected(`${artifact} is a name that may come to mean something else`);
  if (from.leaving !== undefined)
    return rejected(
      `revision ${revisionId}, which serves on "${from.name}", is being rolled back, by ${whoAndWhy(from.leaving.requestedBy)}`,
    );
  if (to.quarantined.includes(artifact)) return rejected(`"${to.name}" has the artifact in quarantine`);
  if (to.servingRevisionId !== null && to.artifact === artifact) {
    return { kind: 'nothing_to_do', reason: `"${to.name}" runs ${shortArtifact(artifact)} already` };
  }
  const barred = whyBarred(to, artifact);
  if (barred !== undefined) return rejected(barred);
  if (to.servingRevisionId !== null && to.artifact !== null && from.newer.includes(to.artifact))
    return rejected(
      `"${to.name}" runs ${shortArtifact(to.artifact)}, which "${from.name}" released after ` +
        `${shortArtifact(artifact)} and has left. To go back on "${to.name}", too: slipway rollback ${to.name}`,
    );
  const release = pick(from, 'commit', 'committedAt', 'releasedBy');
  const candidate = { artifact, revisionId, deploymentId, agentUrl, verifiedAt, ...release };
  return { kind: 'candidate', candidate };
}

export type Confirmation =
  | { readonly kind: 'stands' }
  | { readonly kind: 'superseded' | 'rejected'; readonly reason: string }
  /** `to` was changed by hand: a person decides. */
  | { readonly kind: 'changed_by_hand'; readonly reason: string };

/** Checks whether a candidate is still the one to promote. `before`: what served on `to` when it was chosen. */
export function confirmCandidate(
  candidate: Candidate,
  before: string | null,
  { from, to, downstream }: PromotionTargets,
): Confirmation {
  const gone = whyGone(candidate, from);
  if (gone !== undefined) return { kind: 'superseded', reason: gone };
  const stopped = whyStopped([to, ...downstream]) ?? whyBarred(to, candidate.artifact);
  if (stopped !== undefined) return { kind: 'rejected', reason: stopped };
  const { activeRevisionId: known } = to;
  // What a running release makes serve is no change by hand, and may be undone.
  const serves = (to.running === null ? null : known) ?? to.servingRevisionId;
  const isSame = serves === before || (to.running === null && servesAgain(to, before));
  if (isSame && (known === null || known === serves)) return { kind: 'stands' };
  if (to.running !== null) return { kind: 'superseded', reason: `${to.running} runs on "${to.name}"` };
  if (serves !== null && known === serves)
    return { kind: 'superseded', reason: whySuperseded(to, `revision ${before ?? 'none'}`) };
  const expected = known ?? before ?? 'none';
  const reason = `"${to.name}" was changed by hand: revision ${serves ?? 'none'} serves instead of ${expected}`;
  return { kind: 'changed_by_hand', reason };
}

/** Why a candidate is not to be promoted any more, by what its target serves; `undefined` if it is. */
export function whyGone({ revisionId }: Pick<Candidate, 'revisionId'>, from: TargetSeen): string | undefined {
  if (from.servingRevisionId !== revisionId && !servesAgain(from, revisionId))
    return whySuperseded(from, 'the candidate');
  if (from.leaving !== undefined)
    return `the candidate on "${from.name}" is being rolled back, by ${whoAndWhy(from.leaving.requestedBy)}`;
  if (from.verifiedAt !== null) return undefined;
  return from.servesQuarantined === true
    ? `the candidate is in quarantine on "${from.name}"`
    : `the candidate is not verified on "${from.name}" any more`;
}

/** Whether a copy of a revision serves, or its original: a release that failed has restored it. */
function servesAgain({ sameAs = [] }: TargetSeen, revisionId: string | null): boolean {
  return revisionId !== null && sameAs.includes(revisionId);
}

export function whySuperseded({ name, servingRevisionId, changedBy }: TargetSeen, revision: string): string {
  if (servingRevisionId === null) return `no revision serves on "${name}" any more`;
  const serves = `revision ${servingRevisionId} serves on "${name}" instead of ${revision}`;
  return changedBy === null ? serves : `${serves}: ${changedBy}`;
}

/** Why a promotion is stopped: a target on hold stops all promotions that lead to it, directly or through others. */
export function whyStopped(targets: readonly TargetSeen[]): string | undefined {
  const held = targets.find(({ hold }) => hold !== null);
  if (held?.hold == null) return undefined;
  const { since, by } = held.hold;
  return `promotions that lead to "${held.name}" are stopped: it is on hold since ${exactText(since)}, set by ${whoAndWhy(by)}`;
}

/** Why no promotion releases an artifact on a target: a guard or a hook rolled back from it, and set no hold. */
function whyBarred({ name, barred = [] }: TargetSeen, artifact: string): string | undefined {
  if (!barred.includes(artifact)) return undefined;
  const why = `"${name}" was rolled back from ${shortArtifact(artifact)} without a hold, so that no promotion releases it there again`;
  return `${why}. To allow it: slipway unquarantine ${name} ${artifact}`;
}

function rejected(reason: string): Choice {
  return { kind: 'rejected', reason };
}

/** One target as its workflow and its control plane report it. */
export interface TargetSeen {
  readonly name: string;
  /** Whether it has ever accepted a release. */
  readonly known: boolean;
  readonly hold: Hold | null;
  /** The running release or rollback. */
  readonly running: string | null;
  /** The revision that serves, according to the target. */
  readonly activeRevisionId: string | null;
  /** The revision that serves, according to the control plane; `null` if none. */
  readonly servingRevisionId: string | null;
  /** The serving revision with its original and its copies, which redeploys made. */
  readonly sameAs?: readonly string[];
  /** What runs, else what released or restored what serves, and who asked; or a change by hand. `null`: unknown. */
  readonly changedBy: string | null;
  readonly deploymentId: string | null;
  readonly agentUrl: string | null;
  /** When the serving revision was verified; `null` if it is not, or is in quarantine. */
  readonly verifiedAt: string | null;
  /** The serving revision is in quarantine: its artifact is, or a rollback left it. */
  readonly servesQuarantined?: boolean;
  /** The rollback that waits or runs, and leaves what serves. Absent: there is none. */
  readonly leaving?: RollbackRequest;
  /** The identity of the serving artifact; `null` if Slipway did not deploy it. */
  readonly artifact: string | null;
  readonly commit: string | null;
  /** When the commit was made; absent if not known. */
  readonly committedAt?: Instant;
  /** The artifacts released after that one: a rollback has left them. */
  readonly newer: readonly string[];
  /** Its release; absent if unknown. */
  readonly release?: string;
  /** The name of the target in the records of its releases; absent if it has accepted none. */
  readonly recordedAs?: string;
  /** Who released it; `null` if unknown. */
  readonly releasedBy: Actor | null;
  /** The quarantined artifacts. */
  readonly quarantined: readonly string[];
  /** The artifacts from which a rollback without a hold went back. */
  readonly barred?: readonly string[];
}

/**
 * Combines the two reports about a target.
 * @param answer - the workflow's view, or the state in the artifact store; `null` if it has never accepted a release.
 * @param deployment - the control plane's; `null` if there is none or it was not read.
 */
export function seeTarget(
  name: string,
  answer: { readonly state: TargetState; readonly running: Running | null } | null,
  deployment: DeploymentSnapshot | null,
  agentUrl: string | undefined,
): TargetSeen {
  const { state, running } = answer ?? { state: EMPTY_TARGET, running: null };
  const { activeRevisionId, hold, known, history, quarantined, rollbacks } = state;
  const servingRevisionId = deployment?.activeRevisionId ?? null;
  const serves = servingRevisionId ?? activeRevisionId;
  const revision = known.find(({ revisionId }) => revisionId === serves);
  // A copy that a redeploy made belongs to its original's release.
  const original = revision?.copyOf ?? serves;
  const row = history.findLast(({ revisionId, kind }) => revisionId === original && kind === 'release');
  // The history is bounded, and the record store has none of it.
  const newer = known.slice(known.findIndex(({ revisionId }) => revisionId === original) + 1);
  const wasReleased = ({ copyOf, verified, skipped }: KnownRevision): boolean =>
    copyOf === undefined && (verified || skipped === true);
  return {
    name,
    known: answer !== null,
    hold,
    running: running?.releaseId ?? null,
    activeRevisionId,
    servingRevisionId,
    sameAs: servingRevisionId === null ? [] : withCopies(known, servingRevisionId),
    changedBy: changedBy(state, running, serves),
    deploymentId: deployment?.deploymentId ?? null,
    agentUrl: agentUrl ?? deployment?.agentUrl ?? null,
    verifiedAt: revision?.verified === true && revision.quarantined === undefined ? revision.at : null,
    servesQuarantined: revision?.quarantined,
    leaving: rollbacks.find(
      ({ to }) => to === undefined || serves === null || !isSameRevision(known, to, serves),
    ),
    artifact: revision?.artifact ?? null,
    newer: revision === undefined ? [] : newer.filter(wasReleased).flatMap(({ artifact }) => artifact ?? []),
    commit: row?.commit ?? null,
    committedAt: row?.committedAt,
    release: revision?.release,
    recordedAs: state.spec?.name,
    releasedBy: row?.requestedBy ?? null,
    quarantined: quarantined.map(({ artifact }) => artifact),
    barred: barredArtifacts(known),
  };
}

/** Those whose newest revision a rollback without a hold has left: neither was it released again since. */
function barredArtifacts(known: readonly KnownRevision[]): readonly string[] {
  const newest = new Map(known.map((revision) => [revision.artifact, revision]));
  return [...newest].flatMap(([artifact, { quarantined, barred }]) =>
    artifact !== undefined && quarantined === true && barred === true ? [artifact] : [],
  );
}

/** `rollback-3 by bo: incident`. */
function changedBy(
  { rollbacks, history, activeRevisionId }: TargetState,
  running: Running | null,
  serves: string | null,
): string | null {
  if (running !== null) {
    const [rollback] = rollbacks;
    return rollback === undefined
      ? `${running.releaseId} runs`
      : `${running.releaseId} by ${whoAndWhy(rollback.requestedBy)}`;
  }
  if (activeRevisionId !== null && activeRevisionId !== serves) return 'a change by hand';
  const row = history.findLast(
    ({ servingRevisionId, outcome, restored }) =>
      servingRevisionId === serves && (outcome === 'released' || restored === true),
  );
  return row === undefined ? null : `${row.releaseId} by ${whoAndWhy(row.requestedBy)}`;
}
