import { nameAndMark } from '../../../domain/actor.ts';
import type { WorkFact } from '../../../domain/audit/facts.ts';
import { type DescribedRevision, revisionText, wordsOf } from '../../../domain/deployment/revisionName.ts';
import { formatDuration } from '../../../domain/duration.ts';
import { SlipwayError } from '../../../domain/errors.ts';
import { type Guarding, guardText } from '../../../domain/guard/guarding.ts';
import type { RunningCall } from '../../../domain/heartbeat.ts';
import { actionText } from '../../../domain/hooks/hookText.ts';
import { exactText } from '../../../domain/scalars.ts';
import { describeUndelivered } from '../../../domain/notify/noticeText.ts';
import { pastOfRow, type PastRelease } from '../../../domain/release/pastRelease.ts';
import type { Progress } from '../../../domain/release/release.ts';
import { describeDrift, describeExtraRevision } from '../../../domain/story.ts';
import { describeRevision } from '../../../domain/target/describeRevision.ts';
import { type TargetState, waitingRollbacks } from '../../../domain/target/targetState.ts';
import type { DeploymentSeen } from '../../../inspection/deployment/deploymentAccess.ts';
import { approvalsOf, type TargetHook } from '../../../temporal/client/hooks/targetHooks.ts';
import type { TargetView } from '../../../messages/target.ts';
import type { KeptMessage } from '../../../temporal/history/keptTarget.ts';
import { outcomeCell } from '../../ui/endingText.ts';
import { stepLine } from '../../ui/progressLines.ts';
import { counted, fitLine, MARKS, type Screen, type Style } from '../../ui/text.ts';
import { underWayLines, type UnderWayShown } from '../../ui/underWayLines.ts';
import { FORGOTTEN } from '../target/forgottenTarget.ts';
import { describeHold } from '../target/localHold.ts';
import type { TargetStatus, Unanswered } from './targetStatus.ts';

const REASON_MAX_CHARACTERS = 160;

export function statusLines(status: TargetStatus, last: number, screen: Screen): readonly string[] {
  const { style } = screen;
  const { target, view, localHold, holdProblem, unanswered, deployment } = status;
  const head = [style.strong(target)];
  if (holdProblem !== undefined) head.push(`  ${style.warn(holdProblem.message)}`);
  if (localHold !== undefined)
    head.push(`  ${style.warn(`${describeHold(localHold)} (by break-glass, on this machine)`)}`);
  if (unanswered !== undefined) {
    const serves = { deployment, restoredHere: localHold?.to };
    return [...head, ...unansweredLines(unanswered, serves, screen), ...linkLines(status)];
  }
  if (view === undefined) return [...head, '  has never taken a release'];
  const { state } = view;
  if (status.recordedAt !== undefined) {
    return [
      ...head,
      `  ${style.warn(`${FORGOTTEN}: this is its record of ${exactText(status.recordedAt)} in the artifact store`)}`,
      '  The next release, rollback or hold starts it again with this state.',
      ...needsPersonLines(state, screen),
      ...targetLines(status, view, screen),
      ...quarantineLines(status, state, style),
      `  unknown  what runs and waits; for past releases: slipway history ${target}`,
    ];
  }
  return [
    ...head,
    ...needsPersonLines(state, screen),
    ...targetLines(status, view, screen),
    ...workLines(status, view, screen),
    ...quarantineLines(status, state, style),
    ...failedMessageLines(state, screen),
    ...(state.history.length > 0 ? ['  last'] : []),
    ...state.history
      .slice(-last)
      .toReversed()
      .map((row) => endedLine(pastOfRow(row), screen)),
    ...linkLines(status),
  ];
}

function needsPersonLines({ needsPerson }: TargetState, { now, style }: Screen): readonly string[] {
  if (needsPerson === null) return [];
  const { releaseId, since, instructions } = needsPerson;
  const ago = formatDuration(now - Date.parse(since));
  return [
    `  ${style.bad(`${MARKS.failed} NEEDS A PERSON, since ${releaseId} ended ${ago} ago`)}`,
    ...instructions.split('\n').map((line) => `    ${line}`),
  ];
}

/** What serves, and what may change that or prevents a change. */
function targetLines(
  { deployment, progress, localHold, hooks, measured }: TargetStatus,
  { state, running }: TargetView,
  screen: Screen,
): readonly string[] {
  const { now, style } = screen;
  const { activeRevisionId: known, drift, extras, hold, guard } = state;
  const describe = (revisionId: string): string =>
    describedText(describeRevision(state, running, progress, revisionId), now);
  // A guard that another release or a person ended matters only while its own revision still serves.
  const wasStopped = guard?.ended?.verdict === 'preempted' || guard?.ended?.verdict === 'canceled';
  const isGuarded = guard !== undefined && (!wasStopped || known === guard.revisionId);
  return [
    ...servesLines({ deployment, known, restoredHere: localHold?.to }, describe, style),
    ...(drift === null ? [] : [`  ${style.warn(describeDrift(drift))}`]),
    ...extras.map((extra) => `  ${style.warn(describeExtraRevision(extra))}`),
    ...watchedLines(state, now),
    ...(hold === null ? [] : [`  ${style.warn(describeHold(hold))}`]),
    ...hookLines(hooks, style),
    ...(isGuarded ? guardLines(guard, measured, screen) : []),
  ];
}

function workLines(
  { target, progress, whyNoProgress, call, buildLog }: TargetStatus,
  { state, running }: TargetView,
  screen: Screen,
): readonly string[] {
  const { now, style } = screen;
  const shown = progress === undefined ? undefined : { progress, call, buildLog, addressed: target };
  return [
    `  running  ${running === null ? 'nothing' : running.releaseId}`,
    ...(shown === undefined ? [] : runningLines(shown, screen)),
    ...(whyNoProgress === undefined ? [] : [`    ${style.warn(whyNoProgress)}`]),
    ...waitingRollbacks(state, running).map(({ to, requestedBy }) => {
      const what = `rollback to ${to ?? 'the newest verified revision'}`;
      return `  waiting  ${what}, by ${nameAndMark(requestedBy)}`;
    }),
    ...state.queue.map(({ releaseId, queuedAt, request }) => {
      const waited = formatDuration(now - Date.parse(queuedAt));
      return `  waiting  ${releaseId} by ${nameAndMark(request.requestedBy)}, for ${waited}`;
    }),
  ];
}

function quarantineLines(
  { target, deployment }: TargetStatus,
  { known, activeRevisionId, quarantined }: TargetState,
  style: Style,
): readonly string[] {
  const serves = typeof deployment === 'string' ? activeRevisionId : deployment.activeRevisionId;
  const lines = quarantined.map(({ artifact, by: { who, reason } }) => {
    const why = reason === undefined ? '' : `: ${fitLine(reason, REASON_MAX_CHARACTERS)}`;
    return `${artifact}, by ${who}${why}`;
  });
  const serving = known.find(({ revisionId }) => revisionId === serves);
  if (serving?.quarantined === true) {
    const end = `slipway unquarantine ${target} ${serving.revisionId}`;
    lines.unshift(`what serves: nothing restores or promotes it until "${end}"`);
  }
  return lines.map((line) => `  ${style.warn(`quarantine ${line}`)}`);
}

function failedMessageLines({ undelivered, ignored }: TargetState, { now, style }: Screen): string[] {
  const lines: string[] = [];
  const notice = undelivered?.at(-1);
  if (notice !== undefined)
    lines.push(`  ${style.warn(fitLine(describeUndelivered(notice), REASON_MAX_CHARACTERS))}`);
  const message = ignored.at(-1);
  if (message !== undefined) {
    const ago = formatDuration(now - Date.parse(message.at));
    const why = fitLine(`${message.message}, ${message.reason}`, REASON_MAX_CHARACTERS);
    lines.push(`  ignored  ${counted(ignored.length, 'message')}; the last, ${ago} ago: ${why}`);
  }
  return lines;
}

function hookLines(hooks: readonly TargetHook[], style: Style): readonly string[] {
  const approvals = approvalsOf(hooks).flatMap(({ hook, id, title, note, until, ...decision }) => [
    `  ${style.warn(`approve  to ${actionText(decision)}, after ${fitLine(title, REASON_MAX_CHARACTERS)} (hook ${hook})`)}`,
    `           ${note}${until === undefined ? '' : `, until ${exactText(until)}`}: slipway hooks approve ${id}`,
  ]);
  const silent = hooks.filter(({ rows }) => rows === null);
  return [...approvals, ...silent.map(({ name }) => `  ${style.warn(`hook     ${name} does not answer`)}`)];
}

/** How long the guard watches and what it measured last, or how it ended. */
function guardLines(
  guard: Guarding,
  measured: RunningCall | null,
  { now, style }: Screen,
): readonly string[] {
  const text = `guard    ${fitLine(guardText(guard), REASON_MAX_CHARACTERS)}`;
  if (guard.ended !== undefined) return [`  ${guard.ended.verdict === 'passed' ? text : style.warn(text)}`];
  if (measured === null) return [`  ${text}`];
  // The time of the first of several equal measurements.
  const since = formatDuration(now - Date.parse(measured.since));
  return [`  ${text}`, `           ${fitLine(`for ${since}: ${measured.says}`, REASON_MAX_CHARACTERS)}`];
}

/** Links for a browser, one per line, so that a terminal recognizes where each URL ends. */
export function linkLines({
  dashboardUrl,
  workflowUrl,
}: Pick<TargetStatus, 'dashboardUrl' | 'workflowUrl'>): readonly string[] {
  return [
    ...(dashboardUrl === null ? [] : [`  page     ${dashboardUrl}`]),
    ...(workflowUrl === null ? [] : [`  Temporal ${workflowUrl}`]),
  ];
}

/** What may still become active. The state of a terminated target also lists watches whose time is over. */
function watchedLines({ late, lateUploads }: TargetState, now: number): readonly string[] {
  const isDue = ({ until }: { readonly until: string }): boolean => Date.parse(until) > now;
  return [
    ...late
      .filter(isDue)
      .map(
        ({ revisionId, until }) =>
          `revision ${revisionId}, abandoned, which may become active until ${exactText(until)}`,
      ),
    ...lateUploads
      .filter(isDue)
      .map(
        ({ releaseId, revisionId, until }) =>
          `a PATCH of ${releaseId} without an answer, which may make a ${revisionId === null ? '' : 'second '}revision until ${exactText(until)}`,
      ),
  ].map((what) => `  watches  ${what}`);
}

export function runningLines(
  shown: UnderWayShown & { readonly progress: Progress },
  screen: Screen,
): readonly string[] {
  const { steps, verdicts } = shown.progress;
  const indented = { ...screen, columns: screen.columns - 2 };
  return [...steps.map((step) => `  ${stepLine(step, verdicts, indented)}`), ...underWayLines(shown, screen)];
}

function endedLine(past: PastRelease, { now, style }: Screen): string {
  const { releaseId, endedAt, requestedBy, reason } = past;
  // The mark goes at the start of the line, the outcome's word in the middle.
  const { text, paint } = outcomeCell(past, style);
  const [mark = '', ...words] = text.split(' ');
  const ago = endedAt === null ? '' : ` ${formatDuration(now - Date.parse(endedAt))} ago`;
  const { reason: why } = requestedBy;
  const by = `${nameAndMark(requestedBy)}${why === undefined ? '' : ` (${fitLine(why, REASON_MAX_CHARACTERS)})`}`;
  const came = reason === null ? '' : `: ${fitLine(reason, REASON_MAX_CHARACTERS)}`;
  return `    ${paint(mark)} ${releaseId}: ${words.join(' ')}${ago}, by ${by}${came}`;
}

export const UNKNOWN_FIELDS = [
  'progress',
  'queue',
  'rollbacks',
  'hold',
  'quarantined',
  'drift',
  'needsPerson',
  'ignored',
  'undelivered',
  'said',
  'hookApprovals',
  'guard',
] as const;

const UNKNOWN_WORDS = 'queue, hold, quarantine, changes by hand, whether a person is needed, past commands';

export function unansweredLines(
  { silence, kept }: Unanswered,
  serves: Omit<Serves, 'known'>,
  screen: Screen,
): readonly string[] {
  const { now, style } = screen;
  if (kept instanceof SlipwayError) {
    const sources = silence === kept ? [] : [`  ${style.warn(silence.message)}`];
    const problem = `${kept.message}${kept.hint === undefined ? '' : `; ${kept.hint}`}`;
    const describeById = (revisionId: string): string => `revision ${revisionId}`;
    return [
      ...sources,
      `  ${style.warn(problem)}`,
      ...servesLines({ ...serves, known: null }, describeById, style),
      `  unknown  what runs, past releases, ${UNKNOWN_WORDS}`,
    ];
  }
  const { running, servingRevisionId, ended, messages } = kept;
  const describe = (revisionId: string): string => {
    const words = wordsOf({ known: [], history: ended }, revisionId);
    return describedText({ ...words, verified: null, at: null, copyOf: null }, now);
  };
  const lines = [
    `  ${style.warn(`${silence.message}: this comes from Temporal and the control plane`)}`,
    ...servesLines({ ...serves, known: servingRevisionId }, describe, style),
    ...(running === null ? ['  running  nothing'] : runningByHistory(running, now)),
    ...messages.map((message) => messageLine(message, now)),
  ];
  if (ended.length > 0) lines.push('  last');
  for (const past of ended.toReversed()) lines.push(endedLine(past, screen));
  return [...lines, `  unknown  ${UNKNOWN_WORDS}`];
}

/** The current step is known from the activities that have started and not ended. */
function runningByHistory({ workflowId, startedAt, activities }: WorkFact, now: number): string[] {
  const releaseId = workflowId.slice(workflowId.lastIndexOf('/') + 1);
  const open = activities.filter(({ outcome }) => outcome === 'open');
  return [
    `  running  ${releaseId}, for ${formatDuration(now - startedAt)}, by its history`,
    ...open.map(
      ({ name, scheduledAt }) => `    ${name} has not ended, since ${formatDuration(now - scheduledAt)}`,
    ),
  ];
}

/** A raw signal may contain texts of any length. */
function messageLine({ message, at, who, reason }: KeptMessage, now: number): string {
  const by = who === null ? '' : ` by ${fitLine(who, REASON_MAX_CHARACTERS)}`;
  const why = reason === null ? '' : ` (${fitLine(reason, REASON_MAX_CHARACTERS)})`;
  return `  kept     ${message}${by}${why}, sent ${formatDuration(now - Date.parse(at))} ago: it waits for a worker`;
}

interface Serves {
  /** The control plane's answer, or a sentence about why there is none. */
  readonly deployment: DeploymentSeen | string;
  /** The serving revision, as the target last knew. */
  readonly known: string | null;
  /** The revision that `rollback --break-glass` restored from this machine. */
  readonly restoredHere?: string;
}

function servesLines(
  { deployment, known, restoredHere }: Serves,
  describe: (revisionId: string) => string,
  style: Style,
): readonly string[] {
  const lastKnown = known === null ? 'not known' : `${describe(known)}, as the target last knew`;
  if (typeof deployment === 'string') {
    if (known === null && restoredHere === undefined)
      return [`  serves   ${style.warn(`not known: ${deployment}`)}`];
    const serves =
      restoredHere === undefined || restoredHere === known
        ? [`  serves   ${lastKnown}`]
        : [
            `  serves   ${describe(restoredHere)}, restored by break-glass on this machine`,
            `  known    ${lastKnown}`,
          ];
    return [...serves, `  ${style.warn(`what serves is not known: ${deployment}`)}`];
  }
  const { activeRevisionId: active, latestRevisionId: latest } = deployment;
  return [
    `  serves   ${active === null ? 'nothing' : describe(active)}, according to the control plane`,
    ...(latest === null || latest === active ? [] : [`  newest   ${describe(latest)}`]),
    ...(known === null || known === active ? [] : [`  known    ${lastKnown}`]),
  ];
}

function describedText(revision: DescribedRevision, now: number): string {
  const { verified, at, copyOf } = revision;
  const ago = at === null ? '' : ` ${formatDuration(now - Date.parse(at))} ago`;
  const copy = copyOf === null ? '' : `, a copy of revision ${copyOf}`;
  return `${revisionText(revision)}${copy}${verified === null ? '' : verifiedText(verified, ago)}`;
}

function verifiedText(verified: boolean, ago: string): string {
  if (verified) return `, verified${ago}`;
  return ago === '' ? ', not verified yet' : `, found unverified${ago}`;
}
