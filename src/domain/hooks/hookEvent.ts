import type { PromotionRequest } from '../promotion/promotion.ts';
import type { ReleaseRequest } from '../release/release.ts';
import type { Instant } from '../scalars.ts';

/** What a rule of a hook can ask for. */
export const HOOK_ACTIONS = ['release', 'promotion', 'hold', 'abort', 'rollback'] as const;
export type HookAction = (typeof HOOK_ACTIONS)[number];

/** One thing that a hook was told: an alert, a new prompt, the end of a CI run. */
export interface HookEvent {
  /**
   * The same for the same event, however often it is delivered: a digest of what is signed, or of what the product names the
   * event by.
   */
  readonly id: string;
  /** What it is, for people. At most {@link TITLE_MAX_BYTES}. */
  readonly title: string;
  readonly status: 'firing' | 'resolved';
  /** When it began, as the product says. Absent: it does not say. */
  readonly began?: Instant;
}

/** Of an event's title, as JSON. */
export const TITLE_MAX_BYTES = 400;

/** A time of each day or week, in a time zone: `22:00` until `07:00`. */
export interface HookHours {
  readonly from: string;
  readonly until: string;
  readonly timeZone: string;
}

/** What must be so for a rule to act. */
export interface HookGuards {
  /** The release that serves was made at most so long ago, in milliseconds, and the event began after it. */
  readonly youngerThanMs?: number;
  /** The revision, release, commit or artifact that the event names must serve. `null`: the event names none. */
  readonly revision?: string | null;
  /** So many events within so long, in milliseconds. */
  readonly atLeast?: { readonly count: number; readonly withinMs: number };
  /** Once in so long, in milliseconds. */
  readonly atMostOncePerMs?: number;
  /** A person must approve during these hours, within so long, in milliseconds. */
  readonly approval?: HookHours & { readonly withinMs: number };
}

/** What is asked of a target. */
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
  /** Which of the delivery's orders it asks for. */
  readonly order: number;
}

/** Events that arrived together. */
export interface HookDelivery {
  readonly events: readonly (HookEvent & { readonly matches: readonly HookMatch[] })[];
  /** What the events' matches ask for. */
  readonly orders: readonly HookOrder[];
}

/** What is kept of a rule's past, for each target. */
export function tallyKey(rule: string, { target }: Pick<HookOrder, 'target'>): string {
  return `${rule} ${target}`;
}
