import type { PromotionRequest } from '../promotion/promotion.ts';
import type { ReleaseRequest } from '../release/release.ts';
import type { Instant } from '../scalars.ts';

/** The actions of a hook's rule. */
export const HOOK_ACTIONS = ['release', 'promotion', 'hold', 'abort', 'rollback'] as const;
export type HookAction = (typeof HOOK_ACTIONS)[number];

/** An event that a product sent to a hook: an alert, a new prompt, the end of a CI run. */
export interface HookEvent {
  /** Equal for repeated deliveries: a digest of the signed content, or of the fields that identify the event. */
  readonly id: string;
  /**
   * What the event moved, such as a prompt's tag: an equal event after another move of it is a new one. Absent: equal
   * events are always one.
   */
  readonly moved?: string;
  /** A title for people. At most {@link TITLE_MAX_BYTES}. */
  readonly title: string;
  readonly status: 'firing' | 'resolved';
  /** When it began, according to the product. Absent: unknown. */
  readonly began?: Instant;
}

/** The limit of an event's title, as JSON. */
export const TITLE_MAX_BYTES = 400;

/** A time of each day or week, in a time zone: `22:00` until `07:00`. */
export interface HookHours {
  readonly from: string;
  readonly until: string;
  readonly timeZone: string;
}

/** The conditions for a rule to act. */
export interface HookGuards {
  /** The serving release is at most this old, in milliseconds, and the event began after it. */
  readonly youngerThanMs?: number;
  /** The revision, release, commit or artifact that the event names must serve. `null`: the event names none. */
  readonly revision?: string | null;
  /** At least this many events within a time in milliseconds. */
  readonly atLeast?: { readonly count: number; readonly withinMs: number };
  /** At most one action within this time, in milliseconds. */
  readonly atMostOncePerMs?: number;
  /** During these hours, a person must approve within a time in milliseconds. */
  readonly approval?: HookHours & { readonly withinMs: number };
}

/** An action for a target. */
export type HookOrder = {
  /** The target's name in `slipway.yaml`, and the id of its workflow. */
  readonly target: string;
  readonly workflowId: string;
} & (
  | { readonly do: 'hold' | 'abort' }
  /** `hold: false`: the target is not put on hold. */
  | { readonly do: 'rollback'; readonly hold?: false }
  | { readonly do: 'release'; readonly request: ReleaseRequest }
  | { readonly do: 'promotion'; readonly request: PromotionRequest }
);

/** A rule that an event matches, for one target. */
export interface HookMatch {
  readonly rule: string;
  readonly guards: HookGuards;
  /** The index of its order in the delivery. */
  readonly order: number;
}

/** Events that arrived together. */
export interface HookDelivery {
  readonly events: readonly (HookEvent & { readonly matches: readonly HookMatch[] })[];
  /** The orders of the matches. */
  readonly orders: readonly HookOrder[];
}

export function tallyKey(rule: string, { target }: Pick<HookOrder, 'target'>): string {
  return `${rule} ${target}`;
}
