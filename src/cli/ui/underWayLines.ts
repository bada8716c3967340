import { nameAndMark, nameAndProof } from '../../domain/actor.ts';
import { formatDuration } from '../../domain/duration.ts';
import type { RunningCall, UnderWay } from '../../domain/heartbeat.ts';
import { exactText } from '../../domain/scalars.ts';
import {
  type InterventionKind,
  type InterventionRecord,
  mayApprove,
} from '../../domain/intervention/intervention.ts';
import type { Progress, Waiting } from '../../domain/release/release.ts';
import { fitLine, type Screen, shortIds, wrapLine } from './text.ts';

const LABEL_WIDTH = 9;
/** Where the text of a labeled line begins. */
export const LINE_INDENT = 2 + LABEL_WIDTH;
const BUILD_LINE_MAX_CHARACTERS = 160;

export interface UnderWayShown extends UnderWay {
  /** `null`: no worker answers. */
  readonly progress: Progress | null;
  /** What runs, as command arguments: `production`, `--promotion up`. */
  readonly addressed: string;
}

/**
 * The state of a waiting release, for people: the control plane's last answer, the newest build log lines, and what
 * people requested or must do. `status`, `watch` and `show` print these lines. Build log lines are cut to the screen;
 * other lines wrap.
 */
export function underWayLines(
  { progress, call, buildLog, addressed }: UnderWayShown,
  screen: Screen,
): readonly string[] {
  const { now, style, columns } = screen;
  const wrapped = (line: string): readonly string[] =>
    wrapLine(`  ${line}`, columns, LINE_INDENT).map((part) => fitLine(part, columns));
  return [
    ...(call === null ? [] : wrapped(callLine(call, now))),
    ...buildLog.map((line) => buildLine(line, screen)),
    ...(progress === null ? [] : waitingLines(progress, addressed, now).flatMap(wrapped)).map((line) =>
      style.warn(line),
    ),
  ];
}

export function buildLine(line: string, { style, columns }: Pick<Screen, 'style' | 'columns'>): string {
  return `    ${style.faint(fitLine(line, Math.min(columns - 5, BUILD_LINE_MAX_CHARACTERS)))}`;
}

function callLine({ says, since, until }: RunningCall, now: number): string {
  const given = until === null ? '' : `, ${untilText(until, now)}`;
  return `${label('now')}${shortIds(says)}; since ${exactText(since)}${given}`;
}

/** What it waits for now or later, and what a person can do: one sentence each. */
export function waitingLines(progress: Progress, addressed: string, now: number): readonly string[] {
  const { waiting, watchUntil, steps } = progress;
  const watch = steps.find(
    ({ step, status }) => status === 'running' && (step === 'soak' || step === 'bake'),
  )?.step;
  return [
    ...(waiting === null ? [] : [`${label('waits')}${waitingText(waiting, progress, addressed, now)}`]),
    ...aheadLines(progress, addressed),
    ...(watch === undefined || watchUntil === undefined
      ? []
      : [watchLine(watch, watchUntil, addressed, now)]),
  ];
}

function watchLine(watch: string, until: string, addressed: string, now: number): string {
  const skip = watch === 'soak' ? `; slipway skip ${addressed} --soak` : '';
  return `${label(watch)}${untilText(until, now)}${skip}`;
}

/** Requests that the release has not reached yet: a pause, a skipped check. */
function aheadLines(progress: Progress, addressed: string): readonly string[] {
  const { waiting, interventions, outcome, steps } = progress;
  if (outcome !== null || steps.some(({ restoring }) => restoring)) return [];
  const taken = interventions.filter((said) => said.taken);
  const reached = (what: string | undefined): boolean =>
    steps.some(({ status, step, subject }) => status === 'skipped' && (subject ?? step) === what);
  const skips = taken.filter(({ kind, what }) => kind === 'skip' && !reached(what));
  return [
    ...(waiting?.for === 'resume' ? [] : pauseLines(taken, addressed)),
    ...skips.map((said) => `${label('skips')}${said.what ?? ''}, ${byText(said)}`),
  ];
}

function waitingText(
  waiting: Waiting,
  { interventions, madeBy }: Pick<Progress, 'interventions' | 'madeBy'>,
  addressed: string,
  now: number,
): string {
  const { note, since, until } = waiting;
  const commands = COMMANDS[waiting.for].map(
    (command) => `slipway ${command} ${addressed}${command === 'skip' ? ' --freeze' : ''}`,
  );
  const approved = interventions.filter(({ kind, taken }) => kind === 'approve' && taken);
  const already = approved.map(({ by }) => `, ${nameAndProof(by)} has approved`).join('');
  const who = waiting.for === 'approval' ? `; ${mayApprove(waiting.approvers, madeBy)}${already}` : '';
  const pause = interventions.findLast(({ kind, taken }) => kind === 'pause' && taken);
  const paused = waiting.for === 'resume' && pause !== undefined ? `; ${byText(pause)}` : '';
  return `${note}; since ${exactText(since)}, ${untilText(until, now)}${who}${paused}; ${commands.join(' or ')}`;
}

const COMMANDS: Readonly<Record<Waiting['for'], readonly InterventionKind[]>> = {
  resume: ['resume', 'abort'],
  approval: ['approve', 'reject'],
  decision: ['retry', 'abort'],
  freeze: ['skip', 'abort'],
};

function pauseLines(taken: readonly InterventionRecord[], addressed: string): readonly string[] {
  const last = taken.findLast(({ kind }) => ['pause', 'resume', 'abort'].includes(kind));
  if (last?.kind !== 'pause') return [];
  return [`${label('pauses')}before its next step, ${byText(last)}; slipway resume ${addressed}`];
}

function byText({ by, at }: InterventionRecord): string {
  const { reason } = by;
  return `asked by ${nameAndMark(by)} at ${exactText(at)}${reason === undefined ? '' : ` (${reason})`}`;
}

function untilText(until: string, now: number): string {
  const left = Date.parse(until) - now;
  return `until ${exactText(until)}${left > 0 ? ` (${formatDuration(left)} left)` : ''}`;
}

function label(word: string): string {
  return word.padEnd(LABEL_WIDTH);
}
