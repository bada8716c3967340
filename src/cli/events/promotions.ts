import type { PromotionResult } from '../../domain/promotion/promotion.ts';
import type { ExitCode, Instant } from '../../domain/scalars.ts';
import type { PromotionSchedule, ScheduleChange } from '../../domain/schedule/schedule.ts';

/** The events of promotions and their schedules. */
export interface PromotionSections {
  /**
   * `promote`
   *
   * It prints `promotion`, then `frozen`, `step`, `check`, `waiting` and `under_way` as `release` does, then
   * `promotion_ended` or `gave_up`.
   */
  readonly promote: {
    /** The promotion was requested. */
    readonly promotion: {
      readonly name: string;
      readonly from: string;
      readonly to: string;
      readonly disposition: 'started' | 'joined';
      readonly workflowId: string;
      /** The promotion's page. `null`: no address of the page is set. */
      readonly dashboardUrl: string | null;
      /** How the configurations of the two targets differ, in words. */
      readonly differences: readonly string[];
    };
    /** The promotion has ended: its whole record. */
    readonly promotion_ended: PromotionResult & {
      readonly exitCode: ExitCode;
      /** The promotion's page. `null`: no address of the page is set. */
      readonly dashboardUrl: string | null;
    };
  };

  /** `schedule` */
  readonly schedule: {
    /** `apply`: one for each schedule. */
    readonly schedule_change: ScheduleChange;
    /** `list`, `pause`, `resume`: one for each schedule. */
    readonly schedule: PromotionSchedule &
      Paused & {
        readonly name: string;
        readonly scheduleId: string;
        readonly from: string;
        readonly to: string;
        /** The last starts. */
        readonly recent: readonly Instant[];
      };
    /** `trigger` */
    readonly triggered: { readonly name: string; readonly scheduleId: string };
  };
}

interface Paused {
  readonly paused: boolean;
  /** Why it was paused or resumed. */
  readonly note: string | null;
  /** The next starts. */
  readonly next: readonly Instant[];
}

/** A promotion's schedule, and whether it is paused. */
export interface ScheduleStatus extends PromotionSchedule, Paused {}
