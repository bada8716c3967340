import { appendFile } from 'node:fs/promises';

import type { TemporalConnection } from '../../temporal/connection.ts';
import type { Ending } from '../../temporal/follow.ts';
import { workflowPage } from '../../temporal/temporalSettings.ts';
import type { CommandContext } from '../context.ts';
import { endingExitCode, OUTCOME_WORDS } from '../follow/endingText.ts';
import { type Followed, type FollowedToEnd, followToEnd } from '../follow/followToEnd.ts';
import { ciLog } from './ciLog.ts';
import { jobSummary } from './jobSummary.ts';

/** An end that somebody wanted, or at least one that leaves nothing to be done. */
const STOPPED = 4;

/**
 * Follows a release or a rollback to its end, as {@link followToEnd} does. In CI its steps can be folded up in the log,
 * an end that is not the one asked for stands at the run, and on GitHub the job gets a summary and the step its outputs.
 */
export async function followInCi(
  context: CommandContext,
  temporal: TemporalConnection,
  followed: Followed,
  signal: AbortSignal,
): Promise<FollowedToEnd> {
  const log = ciLog(context);
  const close = log.open(`${followed.asked} on ${followed.targetName}, step by step`);
  try {
    const onEnd = async (ending: Ending): Promise<void> => {
      close();
      await followed.onEnd?.(ending);
    };
    const end = await followToEnd(context.output, temporal, { ...followed, onEnd }, signal);
    if (end.ending !== undefined) await tellRun(context, temporal, followed, end.ending);
    return end;
  } finally {
    close();
  }
}

async function tellRun(
  context: CommandContext,
  temporal: TemporalConnection,
  { asked, targetName: target, workflowId }: Followed,
  ending: Ending,
): Promise<void> {
  const { releaseId, outcome, reason } = ending.from === 'result' ? ending.result : ending.row;
  const exitCode = endingExitCode(asked, ending);
  if (exitCode !== 0) {
    const title = `${releaseId} on ${target}: ${OUTCOME_WORDS[outcome]}`;
    ciLog(context).annotate(exitCode === STOPPED ? 'warning' : 'error', title, reason);
  }
  const workflowUrl = workflowPage(temporal.settings, `${workflowId}/${releaseId}`);
  await append(context, 'GITHUB_STEP_SUMMARY', jobSummary({ asked, target, ending, workflowUrl }));
  await append(context, 'GITHUB_OUTPUT', outputs(ending));
}

/** The outputs of `action.yml`. */
function outputs(ending: Ending): string {
  const { releaseId, outcome, servingRevisionId } = ending.from === 'result' ? ending.result : ending.row;
  const agentUrl = ending.from === 'result' ? ending.result.agentUrl : null;
  const told = {
    'release-id': releaseId,
    outcome,
    'serving-revision-id': servingRevisionId ?? '',
    'agent-url': agentUrl ?? '',
  };
  return Object.entries(told)
    .map(([name, value]) => `${name}=${value.replaceAll(/[\r\n]/g, ' ')}\n`)
    .join('');
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
