import { freezeSpans, parseFreezeMoment } from '../freeze/freeze.ts';

/** A fault or an event that a rehearsal injects. */
export type Injection = (
  | {
      readonly kind: 'check';
      readonly check: string;
      /** The target whose agent it is run on; `null`: any. */
      readonly target: string | null;
      /** `fails`: the agent's answer is not what is expected. `errs`: the agent does not answer. */
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
  /** How a person answers a request for approval, and how long after it began to wait; `null`: nobody answers. */
  | { readonly kind: 'approval'; readonly says: Said | null }
) & {
  /** As it was written. */
  readonly text: string;
};

/** How each kind of injection is written. */
export const INJECTION_FORMS = [
  'check NAME fails|errs [on TARGET] [WHEN]',
  'control plane [of TARGET] is down [WHEN]',
  'build fails [on TARGET] [WHEN]',
  'judge passes|fails|errs|is inconclusive [WHEN]',
  'WHO approves|rejects [after DURATION]',
  'nobody approves',
  'release on TARGET at TIME',
] as const;

/** A person's answer to a request for approval. Milliseconds. */
export interface Said {
  readonly who: string;
  readonly what: 'approve' | 'reject';
  readonly afterMs: number;
}

/**
 * When an injection takes effect: `always`; `since`, so long after the rehearsal, a soak or a bake began
 * (milliseconds); `clock`, at each recurrence of a freeze's moments. `until` is not included. `once`: only what comes
 * first from then on.
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

/** What a time is counted from. */
export type Beginning = 'rehearsal' | 'soak' | 'bake';

/** Where and when something is asked that an injection may decide. Milliseconds since 1970. */
export interface Asked {
  readonly now: number;
  readonly startedAt: number;
  /** The time zone of clocks. */
  readonly timeZone: string;
  /** The promotion's soak or bake that asks; absent: something else does. */
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

/** When it first takes effect, in milliseconds since 1970; `undefined`: it depends on when a soak or a bake begins. */
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
const DAY_MS = 86_400_000;
/** A weekly moment recurs within so many days. */
const WEEK_DAYS = 8;

/** The first instant of a moment from another on; `undefined` where it has passed for good. */
function firstAfter(moment: string, timeZone: string, from: number): number | undefined {
  const isOnce = parseFreezeMoment(moment)?.kind === 'once';
  const window = { name: '', timeZone, from: moment, until: isOnce ? FAR : moment, then: 'wait' } as const;
  const until = isOnce ? Number.MAX_SAFE_INTEGER : from + WEEK_DAYS * DAY_MS;
  return freezeSpans(window, from, until)
    .map((span) => span.from)
    .filter((instant) => instant >= from)
    .sort((one, other) => one - other)[0];
}
