import type { CommandContext } from '../context.ts';
import { reportError } from '../ui/errorReport.ts';
import { MARKS } from '../ui/style.ts';
import { annotateEnd, ciLog } from './ciLog.ts';
import { cell } from './markdown.ts';
import { type Outputs, writeJobSummary } from './writeJobSummary.ts';

/** How a command ended that followed nothing to its end: rejected, queued, timed out. */
export interface CiReport {
  readonly exitCode: number;
  readonly title: string;
  /** Why, and what to do: a paragraph each. */
  readonly why: readonly string[];
  readonly outputs: Outputs;
}

/** Reports such an end to CI: at the run unless it is the one asked for, in the job's summary and the step's outputs. */
export async function reportInCi(context: CommandContext, report: CiReport): Promise<void> {
  const { exitCode, title, why, outputs } = report;
  annotateEnd(context, exitCode, title, why.join('\n'));
  await writeJobSummary(context, headed(report), outputs);
}

/** Reports what a command failed with to CI, in the same places. */
export async function reportErrorInCi(context: CommandContext, error: unknown): Promise<void> {
  ciLog(context).annotateError(error);
  const { code, message, hint, exitCode } = reportError(error);
  const why = hint === null ? [message] : [message, hint];
  await writeJobSummary(context, headed({ exitCode, title: code, why }), { 'error-code': code });
}

/** What has no steps to show: one heading and why. */
function headed({ exitCode, title, why }: Omit<CiReport, 'outputs'>): string {
  const mark = exitCode === 0 ? MARKS.done : MARKS.failed;
  return [`## ${mark} ${cell(title)}\n`, ...why.map((each) => `${cell(each)}\n`)].join('\n');
}
