import { exactText, type Instant, isRecord } from '../scalars.ts';
import type { GuardPlan } from './guardPolicy.ts';
import { type Breach, BREACH_KINDS, breachText } from './measurement.ts';

/**
 * How a guard ended. `passed`: its time is over. `worse`: it asked for a rollback. `replaced`: another revision serves.
 * `preempted`: a release was about to change what serves, or a rollback began. `canceled`: a person canceled it in Temporal.
 * `unknown`: it could not go on, or a person terminated it.
 */
type GuardVerdict = 'passed' | 'worse' | 'replaced' | 'preempted' | 'canceled' | 'unknown';

/** What a guard found at its end. */
export interface GuardFinding {
  readonly verdict: Exclude<GuardVerdict, 'preempted' | 'canceled' | 'unknown'>;
  /** Why, and what was measured last. */
  readonly note: string;
  /** The metric and its values. Absent: it is not worse. */
  readonly breach?: Breach;
}

/** The end of a guard. */
export interface GuardEnd extends Omit<GuardFinding, 'verdict'> {
  readonly at: Instant;
  readonly verdict: GuardVerdict;
}

/** The guard of what a target released last. */
export interface Guarding {
  readonly workflowId: string;
  readonly releaseId: string;
  readonly revisionId: string;
  readonly until: Instant;
  /** Absent: it goes on. */
  readonly ended?: GuardEnd;
  /** The release or the rollback that may have changed what serves since. Absent: none. */
  readonly changedBy?: string;
}

/** What a guard reports to its target at its end. */
export interface GuardReport extends GuardEnd {
  readonly releaseId: string;
}

/** The report as it is sent. */
export interface GuardMessage extends GuardReport {
  /** When the guard began, because it can begin again. */
  readonly since: number;
}

/**
 * The guard after a report; unchanged if it has ended, or if the report is that of another guard, or of the same one
 * before it began again. A guard that the target has preempted may have ended otherwise just before. One that has found
 * its release worse can be canceled until the target has accepted its rollback.
 */
export function endGuard(
  { guard, guarded }: { readonly guard?: Guarding; readonly guarded?: Pick<GuardPlan, 'since'> },
  { releaseId, since, ...ended }: GuardMessage,
): Guarding | undefined {
  if (guard?.releaseId !== releaseId || since !== guarded?.since) return guard;
  const before = guard.ended?.verdict;
  const { verdict } = ended;
  const isLater =
    (before === 'preempted' && verdict !== 'preempted') || (before === 'worse' && verdict === 'canceled');
  return before === undefined || isLater ? { ...guard, ended } : guard;
}

/** The guard once a release or a rollback may change what serves. */
export function preemptGuard(guard: Guarding, changedBy: string, at: Instant): Guarding {
  const ended = guard.ended ?? { at, verdict: 'preempted', note: `${changedBy} began` };
  return { ...guard, ended, changedBy };
}

/** Whether a guard may still ask for a rollback. */
export function isInForce(guard: Guarding | undefined): boolean {
  if (guard === undefined || guard.changedBy !== undefined) return false;
  return guard.ended === undefined || guard.ended.verdict === 'worse';
}

/** `guarded until …`, or how the guard ended. */
export function guardText({ releaseId, until, ended }: Guarding): string {
  if (ended === undefined) return `${releaseId} is guarded until ${exactText(until)}`;
  return `${releaseId}: ${endText(ended)}`;
}

/** How a guard ended: `the guard asked for a rollback, error_rate 0.12 > 0.05`. */
export function endText({ verdict, note, breach }: GuardEnd): string {
  return `${WORDS[verdict]}, ${breach === undefined ? note : breachText(breach)}`;
}

const WORDS: Readonly<Record<GuardVerdict, string>> = {
  passed: 'guarded to the end',
  worse: 'the guard asked for a rollback',
  replaced: 'the guard ended early',
  preempted: 'the guard ended early',
  canceled: 'the guard ended early',
  unknown: 'the guard could not go on',
};

const NOTE_MAX_CHARACTERS = 1_000;

/** Reads a guard's report; a sentence says what is wrong with it. */
export function readGuardReport(raw: unknown): GuardMessage | string {
  if (!isRecord(raw)) return 'the message is not an object';
  const { releaseId, at, verdict, note, breach, since } = raw;
  if (typeof releaseId !== 'string' || typeof at !== 'string' || typeof since !== 'number')
    return 'it names no release and time';
  if (typeof verdict !== 'string' || !Object.hasOwn(WORDS, verdict)) return 'it has no verdict';
  return {
    releaseId,
    at,
    verdict: verdict as GuardVerdict,
    note: typeof note === 'string' ? note.slice(0, NOTE_MAX_CHARACTERS) : '',
    breach: readBreach(breach),
    since,
  };
}

function readBreach(raw: unknown): Breach | undefined {
  if (!isRecord(raw)) return undefined;
  const { metric, value, limit, before } = raw;
  const kind = BREACH_KINDS.find((known) => known === raw['kind']);
  if (typeof metric !== 'string' || kind === undefined) return undefined;
  return {
    metric: metric.slice(0, NOTE_MAX_CHARACTERS),
    kind,
    value: typeof value === 'number' ? value : null,
    limit: typeof limit === 'number' ? limit : null,
    before: typeof before === 'number' ? before : undefined,
  };
}
