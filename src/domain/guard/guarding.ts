import { exactText, type Instant, isRecord } from '../scalars.ts';
import type { GuardedInput } from './guardPolicy.ts';
import { type Breach, BREACH_KINDS, breachText } from './measurement.ts';

/**
 * How a guard ended. `passed`: its time is over. `worse`: it asked for a rollback. `replaced`: another revision serves.
 * `preempted`: a release was about to change what serves, a rollback began, or a person canceled it. `unknown`: it could
 * not go on.
 */
type GuardVerdict = 'passed' | 'worse' | 'replaced' | 'preempted' | 'unknown';

/** What a guard found at its end. */
export interface GuardFinding {
  readonly verdict: Exclude<GuardVerdict, 'preempted' | 'unknown'>;
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
  /** When the guard began, because it can begin again. Absent: its worker is of an earlier version. */
  readonly since?: number;
}

/**
 * The guard after a report; unchanged if it has ended, or if the report is that of another guard, or of the same one
 * before it began again.
 */
export function endGuard(
  { guard, guarded }: { readonly guard?: Guarding; readonly guarded?: Pick<GuardedInput, 'since'> },
  { releaseId, since, ...ended }: GuardMessage,
): Guarding | undefined {
  if (guard?.releaseId !== releaseId || guard.ended !== undefined) return guard;
  const isEarlier =
    guarded !== undefined &&
    (since === undefined ? Date.parse(ended.at) < guarded.since : since !== guarded.since);
  return isEarlier ? guard : { ...guard, ended };
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
  unknown: 'the guard could not go on',
};

const NOTE_MAX_CHARACTERS = 1_000;

/** Reads a guard's report; a sentence says what is wrong with it. */
export function readGuardReport(raw: unknown): GuardMessage | string {
  if (!isRecord(raw)) return 'the message is not an object';
  const { releaseId, at, verdict, note, breach, since } = raw;
  if (typeof releaseId !== 'string' || typeof at !== 'string') return 'it names no release and time';
  if (typeof verdict !== 'string' || !Object.hasOwn(WORDS, verdict)) return 'it has no verdict';
  return {
    releaseId,
    at,
    verdict: verdict as GuardVerdict,
    note: typeof note === 'string' ? note.slice(0, NOTE_MAX_CHARACTERS) : '',
    breach: readBreach(breach),
    since: typeof since === 'number' ? since : undefined,
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
