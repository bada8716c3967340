import { appendFile } from 'node:fs/promises';

import type { CommandContext } from '../context.ts';
import { reportError } from '../ui/errorReport.ts';
import { MARKS } from '../ui/style.ts';
import { annotateEnd, ciLog } from './ciLog.ts';
import { cell } from './markdown.ts';

/** How a command ended that followed nothing to its end: rejected, queued, timed out. */
interface CiReport {
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

/** The outputs of `action.yml`, by their names. */
export type Outputs = Readonly<Record<string, string>>;

/** Gives a job its summary, in Markdown, and the step its outputs: on GitHub, which names the files. */
export async function writeJobSummary(
  context: CommandContext,
  summary: string,
  outputs: Outputs,
): Promise<void> {
  const lines = Object.entries(outputs).map(
    ([name, value]) => `${name}=${value.replaceAll(/[\r\n]/g, ' ')}\n`,
  );
  await append(context, 'GITHUB_STEP_SUMMARY', summary);
  await append(context, 'GITHUB_OUTPUT', lines.join(''));
}

/** Appends to a file that GitHub names. One that cannot be written never changes how a release ended. */
async function append(
  { environment, output }: CommandContext,
  variable: 'GITHUB_STEP_SUMMARY' | 'GITHUB_OUTPUT',
  text: string,
): Promise<void> {
  const file = environment[variable];
  if (file === undefined || file === '') return;
  try {
    await appendFile(file, text);
  } catch (error) {
    output.note(
      `${variable} could not be written: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}
