import type { Candidate } from '../../domain/promotion/candidate.ts';
import type { PromotionRequest, PromotionResult } from '../../domain/promotion/promotion.ts';
import type { TargetSeen } from '../../domain/promotion/targetSeen.ts';
import type { HistoryRow } from '../../domain/target/targetState.ts';
import type { Interventions } from '../intervention/interventions.ts';
import type { Journal } from '../journal.ts';
import type { Notices } from '../notify/notices.ts';

/** One promotion under way: what it was asked, and what it has found out and done so far. */
export interface PromotionRun {
  readonly request: PromotionRequest;
  readonly journal: Journal;
  readonly interventions: Interventions;
  readonly notices: Notices;
  candidate: Candidate | null;
  /** `to` as it was before anything was changed: seen when the candidate was chosen, or when a person said to go on. */
  before: TargetSeen | null;
  /** What was put on `to` by hand, where a person said to promote all the same. */
  accepted: string | null;
  /** The submission of the release on `to`, from the moment in which it may be on its way. */
  submission: string | null;
  /** The release on `to`, from the moment in which the target has taken it. */
  releaseId: string | null;
  /** How the release on `to` ended; `null` while it has not. */
  ended: HistoryRow | null;
}

/** How a promotion ends; what is left out is nothing. */
export type Ending = Pick<PromotionResult, 'outcome' | 'reason'> &
  Partial<Pick<PromotionResult, 'code' | 'nothingToDo'>>;

/** Ends a promotion from within one of its parts. */
export class PromotionEnded extends Error {
  readonly ending: Ending;

  constructor(ending: Ending) {
    super(ending.reason);
    this.name = 'PromotionEnded';
    this.ending = ending;
  }
}
