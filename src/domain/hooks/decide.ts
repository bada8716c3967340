import { formatDuration } from '../duration.ts';
import type { Instant } from '../scalars.ts';
import type { HookAction, HookEvent, HookFacts, HookGuards } from './hookEvent.ts';

/** A rule's past on a target. Times are milliseconds since 1970, oldest first. */
export interface HookTally {
  /** When the events arrived that count towards `atLeast`: those since the rule last acted. */
  readonly counted: readonly number[];
  /** When the rule last acted. Absent: never, or not recorded. */
  readonly actedAt?: number;
}

/** What an event is about, as the target knew it when the rule decided. */
export interface HookSubject {
  /** The revision that served. Absent: unknown. */
  readonly serving?: string | undefined;
  /** The release or rollback that ran. Absent: none did, or the rule did not look. */
  readonly running?: string | undefined;
}

/** The decision of one rule about an event on one target. */
export type HookVerdict =
  /** The decision needs the target's facts. */
  | { readonly kind: 'look' }
  | { readonly kind: 'not_met'; readonly note: string }
  | ({ readonly kind: 'ask'; readonly untilMs: number; readonly note: string } & HookSubject)
  | ({ readonly kind: 'act' } & HookSubject);

/** The input of a verdict. */
export interface HookSituation {
  readonly do: HookAction;
  readonly guards: HookGuards;
  readonly event: Pick<HookEvent, 'began'>;
  /** Includes the event itself. */
  readonly tally: HookTally;
  /** Another event of the rule waits for a person's approval on this target. */
  readonly isAsking: boolean;
  /** Absent: not looked up yet. */
  readonly facts?: HookFacts;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** Decides about an event by the guards of a rule. Guards that need no facts of the target come first. */
export function decide(situation: HookSituation): HookVerdict {
  const { guards, facts, now } = situation;
  const past = pastProblem(situation);
  if (past !== undefined) return { kind: 'not_met', note: past };
  if (!needsFacts(guards)) return { kind: 'act' };
  if (facts === undefined) return { kind: 'look' };
  const problem = ageProblem(situation, facts) ?? revisionProblem(situation, facts);
  if (problem !== undefined) return { kind: 'not_met', note: problem };
  const subject = subjectOf(facts);
  if (guards.approval === undefined || !facts.needsApproval) return { kind: 'act', ...subject };
  const unclear = subjectProblem(situation, subject);
  if (unclear !== undefined) return { kind: 'not_met', note: unclear };
  const { from, until, timeZone, withinMs } = guards.approval;
  const note = `a person must approve from ${from} until ${until} (${timeZone})`;
  return { kind: 'ask', untilMs: now + withinMs, note, ...subject };
}

/** Why a person cannot approve: it would concern what serves or runs then, and not what the event is about. */
function subjectProblem(
  { do: action }: HookSituation,
  { serving, running }: HookSubject,
): string | undefined {
  if (action === 'abort' && running === undefined) return 'no release runs';
  if (action !== 'rollback' || serving !== undefined) return undefined;
  return running === undefined
    ? 'the target does not know what serves'
    : `while ${running} runs, it is not known what serves`;
}

/** Adds an event that arrives now to the tally, and drops events that are too old to count. */
export function counted(tally: HookTally, { atLeast }: HookGuards, at: number): HookTally {
  if (atLeast === undefined) return tally;
  const recent = tally.counted.filter((time) => at - time <= atLeast.withinMs);
  return { ...tally, counted: [...recent, at].slice(-atLeast.count) };
}

/** The tally after the rule has acted. The count of events starts again. */
export function acted(at: number): HookTally {
  return { counted: [], actedAt: at };
}

function needsFacts({ youngerThanMs, revision, approval }: HookGuards): boolean {
  return youngerThanMs !== undefined || revision !== undefined || approval !== undefined;
}

function pastProblem({ guards, tally, isAsking, now }: HookSituation): string | undefined {
  const { atLeast, atMostOncePerMs } = guards;
  if (isAsking) return 'an earlier event waits for approval';
  const sinceMs = tally.actedAt === undefined ? Infinity : now - tally.actedAt;
  if (atMostOncePerMs !== undefined && sinceMs < atMostOncePerMs)
    return `the rule acted ${formatDuration(sinceMs)} ago: at most once per ${formatDuration(atMostOncePerMs)}`;
  if (atLeast !== undefined && tally.counted.length < atLeast.count)
    return `event ${tally.counted.length} of ${atLeast.count} within ${formatDuration(atLeast.withinMs)}`;
  return undefined;
}

function ageProblem(situation: HookSituation, { serving, running }: HookFacts): string | undefined {
  const { guards, event, now } = situation;
  const { youngerThanMs } = guards;
  if (youngerThanMs === undefined) return undefined;
  if (running !== null && isMeant(situation, running)) {
    return beganBefore(event.began, running.startedAt)
      ? `the event began before ${running.releaseId}, which runs`
      : undefined;
  }
  if (serving === null) return 'the target does not know what serves';
  const { release, releasedAt, releaseBegan } = serving;
  if (release === null || releasedAt === null)
    return 'the target does not know when what serves was released';
  const ageMs = now - Date.parse(releasedAt);
  if (ageMs > youngerThanMs)
    return `${release} was released ${formatDuration(ageMs)} ago: longer than ${formatDuration(youngerThanMs)}`;
  return beganBefore(event.began, releaseBegan) ? `the event began before ${release}` : undefined;
}

/** Whether an event may be about the running release. A rollback would leave what served before, if that still serves. */
function isMeant({ do: action }: HookSituation, { kind, stage }: NonNullable<HookFacts['running']>): boolean {
  return kind === 'release' && (action !== 'rollback' || stage !== 'before');
}

function beganBefore(began: Instant | undefined, releaseBegan: Instant | null): boolean {
  if (began === undefined || releaseBegan === null) return false;
  return Date.parse(began) < Date.parse(releaseBegan);
}

/** The shortest prefix of an id or a commit that identifies it. */
const PREFIX_MIN_CHARACTERS = 7;

function revisionProblem(situation: HookSituation, { serving, running }: HookFacts): string | undefined {
  const { revision } = situation.guards;
  if (revision === undefined) return undefined;
  if (revision === null || revision === '') return 'the event does not name the revision';
  const wanted = revision.toLowerCase();
  const isNamed = (...names: readonly (string | null)[]): boolean =>
    names.some((name) => name !== null && isNameOf(wanted, name.toLowerCase()));
  if (running !== null && isMeant(situation, running)) {
    const { revisionId, releaseId, commit, artifact } = running;
    if (isNamed(revisionId, releaseId, commit, artifact)) return undefined;
  }
  const servesNot = `"${revision.slice(0, PREFIX_SHOWN)}" does not serve`;
  // What the target knows as serving is from before the release.
  if (running?.stage === 'serves') return servesNot;
  if (serving === null) return 'the target does not know what serves';
  const { copies, release, commit, artifact } = serving;
  return isNamed(...copies, release, commit, artifact) ? undefined : servesNot;
}

/** A release's id must match fully, because release-1 is a prefix of release-12. */
function isNameOf(wanted: string, name: string): boolean {
  if (wanted === name) return true;
  if (/^release-\d+$/u.test(name) || wanted.length < PREFIX_MIN_CHARACTERS) return false;
  return name.startsWith(wanted) || name.replace(/^sha256:/u, '').startsWith(wanted);
}

const PREFIX_SHOWN = 80;

/** During a restore, only the control plane knows what serves. */
function subjectOf({ serving, running }: HookFacts): HookSubject {
  if (running === null) return { serving: serving?.revisionId };
  const { releaseId, revisionId, stage } = running;
  const served = { before: serving?.revisionId, serves: revisionId ?? undefined, unknown: undefined };
  return { serving: served[stage], running: releaseId };
}
