import type { ErrorCode } from '../../domain/errors.ts';
import type { HookEvents, HookRow } from '../../domain/hooks/hookState.ts';
import type { PreviewResult, PreviewSummary } from '../../domain/preview/preview.ts';
import type { PromotionResult } from '../../domain/promotion/promotion.ts';
import type { ExitCode, Instant, WholeNumber } from '../../domain/scalars.ts';
import type { PromotionSchedule, ScheduleChange } from '../../domain/schedule/schedule.ts';

/** The events of promotions and their schedules. */
export interface PromotionSections {
  /**
   * `promote`
   *
   * It prints `frozen` as `release` does, `promotion`, then `step`, `check`, `waiting`, `under_way`, `silent` and `answering`
   * as `release` does, then `promotion_ended` or `gave_up`.
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
    readonly triggered: {
      readonly name: string;
      readonly scheduleId: string;
      /** `joined`: a promotion of this name runs already, and none was started. */
      readonly disposition: 'started' | 'joined';
    };
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

/** The events of hooks. */
export interface HookSections {
  /** `hooks` */
  readonly hooks: {
    /** The listener answers. */
    readonly ready: {
      /** Its address: `POST ADDRESS/hooks/NAME`. */
      readonly hooks: string;
      /** The names of the hooks. */
      readonly names: readonly string[];
    };
    /** A product sent something. */
    readonly delivery: {
      /** The name in the address. */
      readonly hook: string;
      /** The HTTP status of the answer. */
      readonly status: WholeNumber;
      /** Why it was refused; `null`: it was not. */
      readonly code: ErrorCode | null;
      readonly taken: WholeNumber;
      readonly duplicates: WholeNumber;
      readonly unmatched: WholeNumber;
    };
  };

  /** `hooks list` */
  readonly hooksList: {
    /** An event that a hook received, and the decisions about it. */
    readonly hook_event: HookRow & { readonly hook: string };
    /** How many earlier events, which the hook no longer lists, had each decision. Left out if there are none. */
    readonly hook_past: { readonly hook: string; readonly counts: HookEvents['past'] };
  };

  /** `hooks try` */
  readonly hooksTry: {
    /** What one rule would do about an event of the payload, for one target. */
    readonly hook_trial: {
      readonly hook: string;
      /** The event's id. */
      readonly id: string;
      readonly title: string;
      readonly rule: string;
      /** `null`: the rule is for no target. */
      readonly target: string | null;
      readonly do: HookRow['decisions'][number]['do'];
      /** `no_match`: the rule is for other events. `duplicate`: the event arrived before. `unknown`: Temporal could not be asked. */
      readonly outcome: 'act' | 'ask' | 'not_met' | 'no_match' | 'duplicate' | 'unknown';
      readonly note: string;
    };
  };

  /** `hooks approve`, `hooks reject` */
  readonly hooksAnswer: {
    /** What waited for approval of an event is answered. */
    readonly hook_answer: { readonly hook: string; readonly id: string; readonly approved: boolean };
  };
}

/** The events of previews. */
export interface PreviewSections {
  /**
   * `preview`
   *
   * It prints `preview_evicted` for each preview that made room, then `artifact`, `submitted` and what follows as `release`
   * does, and `preview` last.
   */
  readonly preview: {
    /** A preview that makes room is being removed (`previews.NAME.max`). */
    readonly preview_evicted: {
      readonly name: string;
      readonly pr: WholeNumber;
      readonly deployment: string;
    };
    /** The preview, once its release was queued or has ended. */
    readonly preview: {
      readonly name: string;
      readonly pr: WholeNumber;
      readonly deployment: string;
      readonly workflowId: string;
      readonly releaseId: string;
      readonly expiresAt: Instant;
      /** Where the agent answers. `null`: not known yet. */
      readonly agentUrl: string | null;
      /** Why the preview was removed meanwhile, or is being removed. `null`: it stands, or that is not known. */
      readonly removal: string | null;
      /** Why no comment was written. `null`: it was, or none is due, or that is not known yet. */
      readonly commentProblem: string | null;
      readonly exitCode: ExitCode;
    };
  };

  /** `preview list` */
  readonly previewList: {
    /** One for each preview. */
    readonly listed_preview: PreviewSummary & { readonly workflowId: string };
  };

  /** `preview down` */
  readonly previewDown: {
    /** The preview was asked to remove itself. */
    readonly preview_removal: {
      readonly name: string;
      readonly pr: WholeNumber;
      readonly deployment: string;
      readonly workflowId: string;
    };
    /** It was removed. */
    readonly preview_removed: PreviewResult & { readonly exitCode: ExitCode };
  };
}
