import type { RevisionSnapshot } from '../deployment/revision.ts';
import type { GuardReport } from '../guard/guarding.ts';
import type { GuardedInput } from '../guard/guardPolicy.ts';
import type { PromotionResult } from '../promotion/promotion.ts';
import type { KnownRevision, ReleaseRequest, ReleaseResult, RollbackRequest } from '../release/release.ts';
import type { ReleaseAnswer } from '../target/targetState.ts';

/** One activity in a history. Times are milliseconds since 1970. */
export interface ActivityFact {
  /** The registered name: `patchDeployment`. */
  readonly name: string;
  readonly input: Readonly<Record<string, unknown>>;
  readonly scheduledAt: number;
  /** `null`: it was running when its workflow ended, or it is still running. */
  readonly endedAt: number | null;
  /** When its workflow asked it to stop; absent if it did not. */
  readonly abandonedAt?: number;
  readonly outcome: 'completed' | 'failed' | 'timed_out' | 'canceled' | 'open';
  /** Its result, if it was completed. */
  readonly result: Readonly<Record<string, unknown>> | null;
  /** Whether the service may have applied the call: `true` if it was completed or if that is unknown. */
  readonly mayHaveBeenTaken: boolean;
}

/** One release or rollback in its history. */
export interface WorkFact {
  readonly workflowId: string;
  readonly kind: 'release' | 'rollback';
  readonly startedAt: number;
  /** `null` while it runs. */
  readonly endedAt: number | null;
  readonly ended: 'completed' | 'failed' | 'canceled' | 'terminated' | 'timed_out' | 'running';
  readonly request: ReleaseRequest | RollbackRequest;
  /** What it knew of the deployment's revisions when it began, oldest first. */
  readonly known: readonly KnownRevision[];
  readonly result: ReleaseResult | null;
  /** Whether it told a target that guards a revision that it is about to change what serves. */
  readonly announcesChange?: boolean;
  readonly activities: readonly ActivityFact[];
}

/** A failed workflow task: the workflow's code threw, or its history did not replay. */
interface TaskFailure {
  readonly workflowId: string;
  readonly message: string;
  /** Whether no workflow task has been completed since: then workers cannot continue the workflow. */
  readonly isLast: boolean;
}

export interface SubmissionFact {
  readonly id: string;
  /** Its release; `null` if it was not answered. */
  readonly answer: Pick<ReleaseAnswer, 'releaseId' | 'disposition'> | null;
  /** When it was withdrawn, in milliseconds since 1970; `null` if it was not. */
  readonly withdrawnAt: number | null;
}

/** A message that a target accepted, and when (milliseconds since 1970). A signal may have changed nothing. */
export type MessageFact = { readonly at: number } & (
  | { readonly kind: 'hold' | 'unhold' }
  /** The artifact's identity; from a signal, as the person named it. */
  | { readonly kind: 'quarantine' | 'unquarantine'; readonly artifact: string }
  /** `requestId`: empty for a signal without one. `leaves`: what served when the person asked; `null` if unnamed. */
  | {
      readonly kind: 'rollback';
      readonly requestId: string;
      readonly to: string | null;
      readonly leaves: string | null;
    }
  /** A rollback that named no revision. */
  | { readonly kind: 'rollback refused' }
  | {
      readonly kind: 'queued';
      /** The submission's id. */
      readonly submission: string;
      readonly releaseId: string;
      readonly artifact: string;
      readonly overridesHold: boolean;
    }
  /** The target forgot its hold and its revisions, because its deployment was deleted. */
  | { readonly kind: 'retired' }
  /** A person started the target without its earlier state, because that could not be read. */
  | { readonly kind: 'started afresh' }
);

export interface PromotionFact {
  readonly workflowId: string;
  /** The first run: a reset in Temporal may have begun others. */
  readonly originalRunId: string;
  /** The ids of the original run's submission, and of those of the resets that this run continues. */
  readonly submissions: readonly string[];
  /** `null` if it is still running, or ended without a result. */
  readonly result: PromotionResult | null;
}

export interface GuardFact extends Pick<GuardedInput, 'revisionId' | 'policy' | 'since' | 'until'> {
  readonly workflowId: string;
  readonly releaseId: string;
  /** `null`: it goes on, or ended without a result. */
  readonly report: GuardReport | null;
  /** The target's answer to its rollback, or why there is none. `null`: it asked for none. */
  readonly answer: string | null;
  /** When its target preempted it, in milliseconds since 1970; `null` if it did not. */
  readonly preemptedAt: number | null;
  readonly activities: readonly ActivityFact[];
}

/** All facts in the histories of one target, over all of its runs, and in those of its children. */
export interface TargetFacts {
  readonly workflowId: string;
  /** Whether it runs and has nothing left to do now. */
  readonly idle: boolean;
  /** In the order of their starts. */
  readonly works: readonly WorkFact[];
  /** Further runs of its works, which a reset in Temporal began. They begin like the run before the reset. */
  readonly resets: readonly WorkFact[];
  readonly guards: readonly GuardFact[];
  /** The works whose end the target processed without starting a guard: their workflow ids. */
  readonly unguarded: readonly string[];
  /** The target's own activities: reads, and watching late revisions. */
  readonly activities: readonly ActivityFact[];
  readonly submissions: readonly SubmissionFact[];
  /** In the order in which it accepted them, over all of its runs. */
  readonly said: readonly MessageFact[];
  /** The promotions that requested its releases, if their histories were read. */
  readonly promotions: readonly PromotionFact[];
  readonly taskFailures: readonly TaskFailure[];
  /** Every history as text, with decoded payloads. */
  readonly texts: readonly { readonly workflowId: string; readonly text: string }[];
}

/** A revision that the control plane has. The histories alone do not show late ones. */
export type ObservedRevision = Pick<RevisionSnapshot, 'revisionId' | 'tarballPath'>;

/** A request that changes a deployment, as its control plane received it. */
export interface ObservedRequest {
  readonly kind: 'patch' | 'redeploy';
  /** When it was sent, not when it arrived: milliseconds since 1970. */
  readonly sentAt: number;
  /** The upload path of a PATCH; `null` if its artifact has none. */
  readonly tarballPath: string | null;
  /** The revision that a redeploy requests; `null` for a PATCH. */
  readonly revisionId: string | null;
}

export interface Violation {
  /** The number of the rule. */
  readonly rule: 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10 | 12 | 14;
  /** The workflow in which it happened. */
  readonly workflowId: string;
  /** What happened: one sentence. */
  readonly what: string;
}

/** A violation, before the table of rules adds the rule's number. */
export type Breach = Omit<Violation, 'rule'>;

export interface Evidence {
  readonly target: TargetFacts;
  /** All targets: no other one may change the same deployment. Absent if no other was read. */
  readonly others?: readonly TargetFacts[];
  /** The control plane's revisions; `null` if it was not asked. */
  readonly observed: readonly ObservedRevision[] | null;
  /** The requests that the control plane received, if all of them were recorded and came from Slipway. */
  readonly requests?: readonly ObservedRequest[];
  /** Values that must not appear in any history. */
  readonly secrets: readonly string[];
}

export type Rule = (evidence: Evidence) => readonly Breach[];

/** A rule about each release and rollback separately. `find` says what was wrong with one. */
export function perWork(
  find: (work: WorkFact, evidence: Evidence, index: number) => readonly string[],
): Rule {
  return (evidence) =>
    evidence.target.works.flatMap((work, index) =>
      find(work, evidence, index).map((what) => ({ workflowId: work.workflowId, what })),
    );
}

/** The rollback that a release or a rollback carries out; `null`: none. */
export function rollbackOf({ kind, request, result }: WorkFact): RollbackRequest | null {
  return kind === 'rollback' ? (request as RollbackRequest) : (result?.preemptedBy ?? null);
}

/** How far the clocks of Temporal, of a worker and of the control plane may differ, in milliseconds. */
export const CLOCKS_DIFFER_MS = 1_000;

export function named(activities: readonly ActivityFact[], name: string): readonly ActivityFact[] {
  return activities.filter((activity) => activity.name === name);
}

/** The activities from the first redeploy on, which begins a restore; empty if there is none. */
export function fromFirstRedeploy(activities: readonly ActivityFact[]): readonly ActivityFact[] {
  const first = activities.findIndex(({ name }) => name === 'redeployRevision');
  return first === -1 ? [] : activities.slice(first);
}

/** The index of the first request that changes what serves; -1 if there is none. */
export function firstChange(activities: readonly ActivityFact[]): number {
  return activities.findIndex(({ name }) => name === 'patchDeployment' || name === 'redeployRevision');
}

const CHANGES = new Set(['createDeployment', 'patchDeployment', 'redeployRevision']);

/** The requests of a release or a rollback that may have changed the deployment. */
export function changesOf({ activities }: WorkFact): readonly ActivityFact[] {
  return activities.filter(({ name }) => CHANGES.has(name));
}

export function revisionOf({ input }: ActivityFact): string {
  return String(input['revisionId']);
}
