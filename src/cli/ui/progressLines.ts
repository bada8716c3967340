import { formatDuration } from '../../domain/duration.ts';
import type { CheckVerdict, Progress, StepRecord } from '../../domain/release/release.ts';
import { stepElapsedMs, stepTitle } from '../../domain/story.ts';
import { fitLine, MARKS, padLine, type Screen, shortIds, type Style } from './text.ts';

const TITLE_WIDTH = 36;
const ELAPSED_WIDTH = 7;
const DETAIL_MAX_CHARACTERS = 200;
const DETAIL_MIN_CHARACTERS = 8;
/** The width before the detail: mark, title, time and the spaces between them. */
const LINE_WIDTH = 4 + TITLE_WIDTH + 1 + ELAPSED_WIDTH + 2;

/**
 * One step as one line: a mark, its title, its duration, attempts if more than one, and its result. The detail of a
 * completed step is cut to the screen; a failure is shown in full.
 */
export function stepLine(
  step: StepRecord,
  verdicts: readonly CheckVerdict[],
  { now, style, columns }: Screen,
): string {
  const elapsed = formatDuration(stepElapsedMs(step, now)).padStart(ELAPSED_WIDTH);
  const attempts = step.attempts !== undefined && step.attempts > 1 ? `${step.attempts} attempts` : '';
  const notes = [attempts, detailOf(step, verdicts)].filter((note) => note !== '').join(', ');
  const title = padLine(fitLine(shortIds(stepTitle(step)), TITLE_WIDTH), TITLE_WIDTH);
  const line = `  ${mark(step, style)} ${title} ${style.faint(elapsed)}`;
  if (notes === '') return line;
  const room = Math.max(columns - LINE_WIDTH, DETAIL_MIN_CHARACTERS);
  return `${line}  ${step.status === 'done' ? fitLine(notes, room) : notes}`;
}

export function settledSteps(progress: Progress): number {
  const running = progress.steps.findIndex((step) => step.status === 'running');
  return running === -1 ? progress.steps.length : running;
}

function mark(step: StepRecord, style: Style): string {
  switch (step.status) {
    case 'done':
      return style.good(MARKS.done);
    case 'failed':
      // A baseline with failed checks is a warning, not a failure of this release.
      return step.step === 'baseline' ? style.warn(MARKS.warning) : style.bad(MARKS.failed);
    case 'canceled':
    case 'skipped':
      return style.warn(MARKS.skipped);
    case 'running':
      return style.faint(MARKS.running);
  }
}

function detailOf(step: StepRecord, verdicts: readonly CheckVerdict[]): string {
  if (step.detail === undefined) return '';
  const isCheck = step.step === 'check' || step.step === 'soak' || step.step === 'baseline';
  if (step.status === 'done' && isCheck) return `answered ${quoted(step.detail)}`;
  if (step.status === 'failed' && isCheck) {
    // The title names the check already.
    const verdict = verdicts.findLast(({ check, passed }) => check === step.subject && !passed);
    if (verdict !== undefined) return fitLine(verdict.reasons.join('; '), 2 * DETAIL_MAX_CHARACTERS);
  }
  return fitLine(step.detail, step.status === 'failed' ? 2 * DETAIL_MAX_CHARACTERS : DETAIL_MAX_CHARACTERS);
}

/** An answer in quotes. JSON, for example of an interrupted run, gets no quotes: it would be unreadable. */
function quoted(answer: string): string {
  const line = fitLine(answer, 80);
  return /^[{[]/.test(line) ? line : JSON.stringify(line);
}
