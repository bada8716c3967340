import { formatDuration } from '../../domain/duration.ts';
import type { InterventionRecord } from '../../domain/intervention.ts';
import type { Progress, Waiting } from '../../domain/release.ts';
import type { RunningCall } from '../../temporal/runningCall.ts';
import { exactText } from '../times.ts';

/**
 * What it waits for, or will wait for, and what a person can do, one sentence each: a wait, a pause that is requested and
 * not reached, checks that a person skipped, the rest of a soak.
 *
 * @param addressed - how a command names what waits: `production`, `--promotion up`.
 * @param now - in milliseconds since 1970.
 */
export function waitingLines(progress: Progress, addressed: string, now: number): readonly string[] {
  const { waiting, watchUntil, steps } = progress;
  const watches = steps.some(
    ({ step, status }) => status === 'running' && (step === 'soak' || step === 'bake'),
  );
  return [
    ...(waiting === null ? [] : [`waits    ${waitingText(waiting, addressed, now)}`]),
    ...aheadLines(progress, addressed),
    ...(watches && watchUntil !== undefined ? [`watches  ${untilText(watchUntil, now)}`] : []),
  ];
}

/** What a person asked for and is not reached: a pause, a skipped check. */
export function aheadLines(
  { waiting, interventions, steps }: Progress,
  addressed: string,
): readonly string[] {
  if (steps.some(({ restoring }) => restoring)) return [];
  const taken = interventions.filter((said) => said.taken);
  const reached = (what: string | undefined): boolean =>
    steps.some(({ status, step, subject }) => status === 'skipped' && (subject ?? step) === what);
  const skips = taken.filter(({ kind, what }) => kind === 'skip' && !reached(what));
  return [
    ...(waiting?.for === 'resume' ? [] : pauseLines(taken, addressed)),
    ...skips.map((said) => `skips    ${said.what ?? ''}, ${byText(said)}`),
  ];
}

/** A wait in one sentence: what for, since when, until when, who may end it, and the command that does. */
export function waitingText(waiting: Waiting, addressed: string, now: number): string {
  const { note, since, until, approvers } = waiting;
  const who = approvers === undefined ? '' : `; ${approvers.join(' or ')} may approve`;
  const commands = COMMANDS[waiting.for].map((command) => `slipway ${command(addressed)}`);
  return `${note}; since ${exactText(since)}, ${untilText(until, now)}${who}; ${commands.join(' or ')}`;
}

const COMMANDS: Readonly<Record<Waiting['for'], readonly ((addressed: string) => string)[]>> = {
  resume: [(addressed) => `resume ${addressed}`, (addressed) => `abort ${addressed}`],
  approval: [(addressed) => `approve ${addressed}`, (addressed) => `reject ${addressed}`],
  decision: [(addressed) => `retry ${addressed}`, (addressed) => `abort ${addressed}`],
  freeze: [(addressed) => `abort ${addressed}`],
};

function pauseLines(taken: readonly InterventionRecord[], addressed: string): readonly string[] {
  const last = taken.findLast(({ kind }) => ['pause', 'resume', 'abort'].includes(kind));
  if (last?.kind !== 'pause') return [];
  return [`pauses   before its next step, ${byText(last)}; slipway resume ${addressed}`];
}

function byText({ by: { who, reason }, at }: InterventionRecord): string {
  return `asked by ${who} at ${exactText(at)}${reason === undefined ? '' : ` (${reason})`}`;
}

/** What the step under way found at its last look, since when it polls, and when it is given up. */
export function callLine({ says, since, until }: RunningCall, now: number): string {
  return `says     ${says}; since ${exactText(since)}${until === null ? '' : `, ${untilText(until, now)}`}`;
}

function untilText(until: string, now: number): string {
  const left = formatDuration(Math.max(Date.parse(until) - now, 0));
  return `until ${exactText(until)} (${left} left)`;
}
