import { outcomeExitCode } from '../../domain/release.ts';
import type { ReleaseAnswer } from '../../domain/targetState.ts';
import type { CommandContext } from '../context.ts';
import { reportError } from '../errorReport.ts';
import { OUTCOME_WORDS } from '../follow/endingText.ts';
import { MARKS } from '../style.ts';
import { annotateEnd, ciLog } from './ciLog.ts';
import { cell } from './markdown.ts';
import { tellJob } from './tellJob.ts';

/** What never ran has no steps to show: one heading and why. */
const headed = (title: string, why: string): string => `## ${MARKS.failed} ${cell(title)}\n\n${cell(why)}\n`;

/** Reports a release that its target rejected to CI: at the run, in the job's summary and the step's outputs. */
export async function tellRejection(
  context: CommandContext,
  target: string,
  { releaseId, reason }: Pick<ReleaseAnswer, 'releaseId' | 'reason'>,
): Promise<void> {
  const title = `${releaseId} on ${target}: ${OUTCOME_WORDS.rejected}`;
  annotateEnd(context, outcomeExitCode('release', 'rejected'), title, reason);
  await tellJob(context, headed(title, reason), { 'release-id': releaseId, outcome: 'rejected' });
}

/** Reports what a command failed with to CI, in the same places. */
export async function tellErrorInCi(context: CommandContext, error: unknown): Promise<void> {
  ciLog(context).annotateError(error);
  const { code, message, hint } = reportError(error);
  const why = hint === null ? message : `${message}. ${hint}`;
  await tellJob(context, headed(code, why), { 'error-code': code });
}
