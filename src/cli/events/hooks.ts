import type { HookEvents, HookRow } from '../../domain/hooks/hookState.ts';
import type { ErrorCode } from '../../domain/errors.ts';
import type { WholeNumber } from '../../domain/scalars.ts';

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
