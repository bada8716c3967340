import type { PromotionResult } from '../domain/promotion/promotion.ts';
import type { Progress, ReleaseResult } from '../domain/release/release.ts';

/** What a rehearsal tells. Instants are milliseconds since 1970, in the time that is skipped. */
export type RehearsalEvent =
  /** A release that the rehearsal asked for has ended. */
  | {
      readonly kind: 'release';
      readonly target: string;
      readonly at: number;
      readonly result: ReleaseResult;
    }
  /** A release that the rehearsal asked for was not taken. */
  | { readonly kind: 'refused'; readonly target: string; readonly at: number; readonly reason: string }
  /** A promotion has ended. */
  | {
      readonly kind: 'promotion';
      readonly name: string;
      readonly at: number;
      readonly result: PromotionResult;
    }
  /** A time of a schedule came round while the promotion of an earlier one went on. */
  | {
      readonly kind: 'overlap';
      readonly name: string;
      readonly at: number;
      readonly what: 'left_out' | 'done_after';
    }
  /** What goes on when the rehearsal ends. `name`: of a promotion, or of the target of a release. */
  | {
      readonly kind: 'goes_on';
      readonly what: 'promotion' | 'release';
      readonly name: string;
      readonly at: number;
      /** `null`: a release that waits for its turn. */
      readonly progress: Progress | null;
    };
