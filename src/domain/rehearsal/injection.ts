import { freezeSpans, parseFreezeMoment } from '../freeze/freeze.ts';
import { DAY_MS } from '../duration.ts';

/** A fault or an event that a rehearsal injects. */
export type Injection = (
  | {
      readonly kind: 'check';
      readonly check: string;
      /** The target whose agent the check runs on; `null` for any. */
      readonly target: string | null;
      /** `fails`: the agent gives a wrong answer. `errs`: the agent does not answer. */
      readonly how: 'fails' | 'errs';
      readonly when: When;
    }
  | { readonly kind: 'control_plane'; readonly target: string | null; readonly when: When }
  | {
      readonly kind: 'judge';
      readonly verdict: 'passed' | 'failed' | 'inconclusive' | 'errored';
      readonly when: When;
    }
  | { readonly kind: 'build'; readonly target: string | null; readonly when: When }
  /** A new version is released on a target. */
  | { readonly kind: 'release'; readonly target: string; readonly when: When }
  /** A person's answer to a request for approval; `null` if no one answers. */
  | { readonly kind: 'approval'; readonly says: Said | null }
) & {
  /** As written. */
  readonly text: string;
};

/** The syntax of each kind of injection. */
export const INJECTION_FORMS = [
  'check NAME fails|errs [on TARGET] [WHEN]',
  'control plane [of TARGET] is down [WHEN]',
  'build fails [on TARGET] [WHEN]',
  'judge passes|fails|errs|is inconclusive [WHEN]',
  'WHO approves|rejects [after DURATION]',
  'nobody approves',
  'release on TARGET at TIME',
] as const;

/** A person's answer to a request for approval, and after how many milliseconds of waiting. */
export interface Said {
  readonly who: string;
  readonly what: 'approve' | 'reject';
  readonly afterMs: number;
}

/**
 * When an injection takes effect. `always`; `since`: this long after the start of the rehearsal, a soak or a bake, in
 * milliseconds; `clock`: at each recurrence of a freeze's moments. `until` is excluded. `once`: only for the first
 * event from then on.
 */
export type When =
  | { readonly kind: 'always' }
  | {
      readonly kind: 'since';
      readonly of: Beginning;
      readonly from: number;
      readonly until: number | null;
      readonly once: boolean;
    }
  | { readonly kind: 'clock'; readonly from: string; readonly until: string | null; readonly once: boolean };

/** The event from which a time is counted. */
export type Beginning = 'rehearsal' | 'soak' | 'bake';

/** The context of an event that an injection may decide. Milliseconds since 1970. */
export interface Asked {
  readonly now: number;
  readonly startedAt: number;
  /** The time zone for `clock`. */
  readonly timeZone: string;
  /** The promotion's soak or bake that the event belongs to; absent for other events. */
  readonly watch?: { readonly of: 'soak' | 'bake'; readonly since: number };
}

/** Whether an injection takes effect now. The caller remembers whether a `once` has happened. */
export function isTime(when: When, asked: Asked): boolean {
  switch (when.kind) {
    case 'always':
      return true;
    case 'since': {
      const since = beginning(when.of, asked);
      if (since === undefined) return false;
      const passed = asked.now - since;
      return passed >= when.from && (when.until === null || passed < when.until);
    }
    case 'clock': {
      const { now, startedAt, timeZone } = asked;
      if (when.until === null) return now >= (firstAfter(when.from, timeZone, startedAt) ?? Infinity);
      const window = { name: '', timeZone, from: when.from, until: when.until, then: 'wait' } as const;
      return freezeSpans(window, now, now + 1).length > 0;
    }
  }
}

/** When it first takes effect, in milliseconds since 1970; `undefined` if a soak or a bake decides. */
export function firstTime(
  when: When,
  { startedAt, timeZone }: Pick<Asked, 'startedAt' | 'timeZone'>,
): number | undefined {
  if (when.kind === 'always') return startedAt;
  if (when.kind === 'clock') return firstAfter(when.from, timeZone, startedAt);
  return when.of === 'rehearsal' ? startedAt + when.from : undefined;
}

function beginning(of: Beginning, { startedAt, watch }: Asked): number | undefined {
  if (of === 'rehearsal') return startedAt;
  return watch?.of === of ? watch.since : undefined;
}

const FAR = '9999-12-31';
/** A weekly moment recurs within this many days. */
const WEEK_DAYS = 8;

/** The first occurrence of a moment at or after an instant; `undefined` if it is past. */
function firstAfter(moment: string, timeZone: string, from: number): number | undefined {
  const isOnce = parseFreezeMoment(moment)?.kind === 'once';
  const window = { name: '', timeZone, from: moment, until: isOnce ? FAR : moment, then: 'wait' } as const;
  const until = isOnce ? Number.MAX_SAFE_INTEGER : from + WEEK_DAYS * DAY_MS;
  return freezeSpans(window, from, until).find((span) => span.from >= from)?.from;
}
