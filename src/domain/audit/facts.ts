import type { PromotionResult } from '../promotion/promotion.ts';
import type { KnownRevision, ReleaseRequest, ReleaseResult, RollbackRequest } from '../release/release.ts';
import type { ReleaseAnswer } from '../target/targetState.ts';

/** One activity as a history tells it. Times are milliseconds since 1970. */
export interface ActivityFact {
  /** As the worker registers it: `patchDeployment`. */
  readonly name: string;
  readonly input: Readonly<Record<string, unknown>>;
  readonly scheduledAt: number;
  /** `null`: it had not ended when its workflow did, or runs still. */
  readonly endedAt: number | null;
  /** When its workflow asked it to stop. Absent: it did not. */
  readonly abandonedAt?: number;
  readonly outcome: 'completed' | 'failed' | 'timed_out' | 'canceled' | 'open';
  /** What it came to, where it was completed. */
  readonly result: Readonly<Record<string, unknown>> | null;
  /** Whether the service may have carried it out: `true` if it was completed, or that is unknown. */
  readonly mayHaveBeenTaken: boolean;
}

/** One release or rollback as its history tells it. */
export interface WorkFact {
  readonly workflowId: string;
  readonly kind: 'release' | 'rollback';
  readonly startedAt: number;
  /** `null`: it runs still. */
  readonly endedAt: number | null;
  readonly ended: 'completed' | 'failed' | 'canceled' | 'terminated' | 'timed_out' | 'running';
  readonly request: ReleaseRequest | RollbackRequest;
  readonly known: readonly KnownRevision[];
  readonly result: ReleaseResult | null;
  readonly activities: readonly ActivityFact[];
}

/** A workflow task that failed: the workflow's own code threw, or did not replay. */
export interface TaskFailure {
  readonly workflowId: string;
  readonly message: string;
  /** Whether no workflow task has been completed since: workers cannot continue the workflow. */
  readonly isLast: boolean;
}

/** One submission of a release as the target's history tells it. */
export interface SubmissionFact {
  readonly id: string;
  /** Which release it led to; `null`: it was not answered. */
  readonly answer: Pick<ReleaseAnswer, 'releaseId' | 'disposition'> | null;
  /** When it was withdrawn: milliseconds since 1970; `null`: it stands. */
  readonly withdrawnAt: number | null;
}

/** What a target was asked for and took, and when (milliseconds since 1970). A signal may have changed nothing. */
export type MessageFact = { readonly at: number } & (
  | { readonly kind: 'hold' | 'unhold' }
  /** The artifact's identity; from a signal, as the person named it. */
  | { readonly kind: 'quarantine' | 'unquarantine'; readonly artifact: string }
  /** `requestId`: empty for a signal without one. `leaves`: the revision that the person saw serve. `null`: none is named. */
  | {
      readonly kind: 'rollback';
      readonly requestId: string;
      readonly to: string | null;
      readonly leaves: string | null;
    }
  /** One that named no revision. */
  | { readonly kind: 'rollback refused' }
  | {
      readonly kind: 'queued';
      /** The submission's id. */
      readonly submission: string;
      readonly releaseId: string;
      readonly artifact: string;
      readonly overridesHold: boolean;
    }
  /** A person started it without what it knew, because that could not be read. */
  | { readonly kind: 'started afresh' }
);

/** One promotion to the target as its history tells it. */
export interface PromotionFact {
  readonly workflowId: string;
  readonly runId: string;
  /** `null`: it runs still, or ended without one. */
  readonly result: PromotionResult | null;
}

/** Everything that the histories of one target say: its own, over all of its runs, and those of its children. */
export interface TargetFacts {
  readonly workflowId: string;
  /** Whether it runs, and has done all that it had to at this moment. */
  readonly idle: boolean;
  /** In the order in which they started. */
  readonly works: readonly WorkFact[];
  /** What the target did itself: looking, and watching revisions that were given up on. */
  readonly activities: readonly ActivityFact[];
  readonly submissions: readonly SubmissionFact[];
  /** In the order in which it took them, over all of its runs. */
  readonly said: readonly MessageFact[];
  /** Those whose releases ran on the target, where their histories were read. */
  readonly promotions: readonly PromotionFact[];
  readonly taskFailures: readonly TaskFailure[];
  /** Every history as text, with its payloads decoded. */
  readonly texts: readonly { readonly workflowId: string; readonly text: string }[];
}

/** What a control plane has of a target's deployment; the histories alone do not show what landed late. */
export interface ObservedRevision {
  readonly revisionId: string;
  readonly tarballPath: string | null;
}

/** A request that changes a deployment and that its control plane got. */
export interface ObservedRequest {
  readonly kind: 'patch' | 'redeploy';
  /** When it was sent, whenever it arrived: milliseconds since 1970. */
  readonly sentAt: number;
  /** The upload path of a PATCH; `null` where its artifact has none. */
  readonly tarballPath: string | null;
  /** The revision that a redeploy asks for; `null` for a PATCH. */
  readonly revisionId: string | null;
}

/** A safety rule that was broken. */
export interface Violation {
  /** The number of the rule. */
  readonly rule: 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10 | 12;
  /** The workflow in which it happened. */
  readonly workflowId: string;
  /** What happened: one sentence. */
  readonly what: string;
}

/** What a rule finds: the table of rules has its number. */
export type Breach = Omit<Violation, 'rule'>;

/** What rules are checked against. */
export interface Evidence {
  readonly target: TargetFacts;
  /** The other targets that were looked at: none of them may change the same deployment. Absent: none was. */
  readonly others?: readonly TargetFacts[];
  /** What the control plane has; `null`: it was not asked. */
  readonly observed: readonly ObservedRevision[] | null;
  /** What the control plane was asked to change, if all of it was written down and came from Slipway. */
  readonly requests?: readonly ObservedRequest[];
  /** Values that must stand nowhere. */
  readonly secrets: readonly string[];
}

/** Finds where a rule was broken. */
export type Rule = (evidence: Evidence) => readonly Breach[];

/** A rule about each release and rollback by itself. `find` says what was wrong with one. */
export function perWork(
  find: (work: WorkFact, evidence: Evidence, index: number) => readonly string[],
): Rule {
  return (evidence) =>
    evidence.target.works.flatMap((work, index) =>
      find(work, evidence, index).map((what) => ({ workflowId: work.workflowId, what })),
    );
}

/** The activities of a name, in order. */
export function named(activities: readonly ActivityFact[], name: string): readonly ActivityFact[] {
  return activities.filter((activity) => activity.name === name);
}

/** The activities from the first one of a name on; empty: there is none. */
export function fromFirst(activities: readonly ActivityFact[], name: string): readonly ActivityFact[] {
  const first = activities.findIndex((activity) => activity.name === name);
  return first === -1 ? [] : activities.slice(first);
}

/** The revision that an activity is about. */
export function revisionOf({ input }: ActivityFact): string {
  return String(input['revisionId']);
}
