import { type Bound, cutText, newest } from './bounds.ts';
import { exactText } from './scalars.ts';
import { describeUndelivered } from './notify/noticeText.ts';
import type { JudgementRecord, Progress, StepRecord } from './release/release.ts';
import type { Drift, ExtraRevision, Running, TargetState } from './target/targetState.ts';

/** The newest rows of the steps' table, which Temporal's UI shows. */
const SHOWN_STEPS: Bound = { items: 200, bytes: 100_000 };
const CELL_MAX_BYTES = 1_000;

/** A release's progress as Markdown: the workflow's current details in Temporal's UI. */
export function describeProgress(progress: Progress): string {
  const lines = [`**${progress.releaseId}**: ${progress.outcome ?? progress.phase}`, ''];
  if (progress.instructions !== null) lines.push(...callForHelp(progress.instructions));
  if (progress.deploymentId !== null) lines.push(`deployment \`${progress.deploymentId}\``, '');
  if (progress.revisionId !== null) lines.push(`revision \`${progress.revisionId}\``, '');
  if (progress.judgement !== undefined)
    lines.push(`judged ${cell(describeJudgement(progress.judgement))}`, '');
  if (progress.steps.length > 0) {
    lines.push('| step | status | seconds | attempts | detail |', '|---|---|---|---|---|');
    lines.push(...newest(progress.steps.map(tableRow), SHOWN_STEPS));
  }
  return lines.join('\n');
}

/** A target's state as Markdown: the workflow's current details in Temporal's UI. */
export function describeTarget(state: TargetState, running: Running | null): string {
  const lines = [`**${state.spec?.name ?? 'new target'}**: ${running?.releaseId ?? 'idle'}`, ''];
  if (state.needsPerson !== null) lines.push(...callForHelp(state.needsPerson.instructions));
  if (state.hold !== null) {
    const { by, since } = state.hold;
    lines.push(`on hold since ${exactText(since)}, set by ${by.who}: ${by.reason ?? 'no reason given'}`, '');
  }
  if (state.activeRevisionId !== null) lines.push(`serves revision \`${state.activeRevisionId}\``, '');
  if (state.drift !== null) lines.push(describeDrift(state.drift), '');
  for (const extra of state.extras) lines.push(describeExtraRevision(extra), '');
  const undelivered = state.undelivered?.at(-1);
  if (undelivered !== undefined) lines.push(cell(describeUndelivered(undelivered)), '');
  for (const queued of state.queue) lines.push(`- waiting: ${queued.releaseId}`);
  for (const row of state.history.slice(-10).reverse()) {
    lines.push(`- ${row.releaseId}: ${row.outcome}, ${cutText(row.reason, CELL_MAX_BYTES)}`);
  }
  return lines.join('\n');
}

/** Instructions as Markdown at the top. The commands are unchanged. */
function callForHelp(instructions: string): readonly string[] {
  return ['**NEEDS A PERSON**', '', '```', instructions, '```', ''];
}

/** Describes a judgement: the verdict, its reasons, and where the report is. */
export function describeJudgement({ verdict, reasons, report }: JudgementRecord): string {
  return `${verdict}: ${reasons.join('; ')} (report: ${report})`;
}

export function describeDrift({ at, expected, found }: Drift): string {
  const what = found === null ? 'nothing' : `revision ${found}`;
  return `changed by hand: ${what} served at ${exactText(at)} instead of revision ${expected}`;
}

export function describeExtraRevision({ releaseId, revisionId, at, landedLate }: ExtraRevision): string {
  const how = landedLate ? 'landed after it had ended' : 'was carried out more than once';
  return `extra revision ${revisionId}: a PATCH of ${releaseId} ${how}; noticed at ${exactText(at)}`;
}

/** A step's name for people: `check "greets"`, `restore: redeploy`. */
export function stepTitle(step: Pick<StepRecord, 'step' | 'subject' | 'restoring'>): string {
  const subject = step.subject === undefined ? '' : ` ${step.subject}`;
  return `${step.restoring ? 'restore: ' : ''}${step.step}${subject}`;
}

/** How long a step took, in milliseconds; until `now` while it runs. */
export function stepElapsedMs(step: StepRecord, now: number): number {
  return (step.endedAt === undefined ? now : Date.parse(step.endedAt)) - Date.parse(step.startedAt);
}

function tableRow(step: StepRecord): string {
  const seconds = step.endedAt === undefined ? '' : (stepElapsedMs(step, 0) / 1_000).toFixed(1);
  const detail = cell(step.detail ?? '');
  return `| ${cell(stepTitle(step))} | ${step.status} | ${seconds} | ${step.attempts ?? ''} | ${detail} |`;
}

function cell(text: string): string {
  return cutText(text, CELL_MAX_BYTES).replaceAll('|', '\\|').replaceAll(/\s+/g, ' ');
}
