import { appendFile } from 'node:fs/promises';

import { errorText } from '@slipway/contract/codedError';

import type { CommandContext } from '../context.ts';
import { reportError } from '../ui/errorReport.ts';
import { annotateEnd, ciLog } from './ciLog.ts';
import { summaryOf } from './markdown.ts';

/** The ending of a command that did not follow anything to its end: rejected, queued, timed out. */
interface CiReport {
  readonly exitCode: number;
  readonly title: string;
  /** Why, and what to do: one paragraph each. */
  readonly why: readonly string[];
  readonly outputs: Outputs;
}

/** Reports this ending to CI: as an annotation if it is unwanted, in the job summary, and in the step outputs. */
export async function reportInCi(context: CommandContext, report: CiReport): Promise<void> {
  const { exitCode, title, why, outputs } = report;
  annotateEnd(context, exitCode, title, why.join('\n'));
  await writeJobSummary(context, summaryOf(exitCode, title, why), outputs);
}

export async function reportErrorInCi(context: CommandContext, error: unknown): Promise<void> {
  ciLog(context).annotateError(error);
  const { code, message, hint, exitCode } = reportError(error);
  const why = hint === null ? [message] : [message, hint];
  await writeJobSummary(context, summaryOf(exitCode, code, why), { 'error-code': code });
}

/** The outputs of `action.yml`, by name. */
export type Outputs = Readonly<Record<string, string>>;

/** Writes the job summary (Markdown) and the step outputs, to the files that GitHub names. */
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

/** Appends to a file that GitHub names. A failed write never changes a release's outcome. */
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
    output.note(`${variable} could not be written: ${errorText(error)}`);
  }
}
