import type { ObservedRequest, ObservedRevision, TargetFacts } from './facts.ts';

/** A safety rule that was broken. */
export interface Violation {
  /** The number of the rule. */
  readonly rule: 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10 | 12;
  /** The workflow in which it happened. */
  readonly workflowId: string;
  /** What happened: one sentence. */
  readonly what: string;
}

/** What a rule is held against. */
export interface Evidence {
  readonly target: TargetFacts;
  /** The other targets that were looked at: none of them may change the same deployment. Absent: none was. */
  readonly others?: readonly TargetFacts[];
  /** What the control plane has; `null` where it was not asked. */
  readonly observed: readonly ObservedRevision[] | null;
  /** What the control plane was asked to change, where that was written down, and all of it by Slipway. */
  readonly requests?: readonly ObservedRequest[];
  /** Values that must stand nowhere. */
  readonly secrets: readonly string[];
}

/** One rule: finds where it was broken. */
export type Rule = (evidence: Evidence) => readonly Violation[];
