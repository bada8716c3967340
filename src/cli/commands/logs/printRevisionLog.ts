import { removeSecrets } from '../../../clients/removeSecrets.ts';
import { knownSecrets } from '../../../config/secretReference.ts';
import { SlipwayError } from '../../../domain/errors.ts';
import type { ReleaseResult } from '../../../domain/release/release.ts';
import { failedRevisionLines, type LogLine } from '../../../inspection/deployment/revisionLog.ts';
import type { CommandContext } from '../../context.ts';
import type { ChosenTarget } from '../target/targetAccess.ts';

const STAGE_WIDTH = 'deploy'.length;

/**
 * Prints the lines of a revision's log. Removes the target's secrets that this process knows, because a build or an
 * agent may log them.
 * @returns a function that prints one line.
 */
export function logPrinter(
  { output, environment }: CommandContext,
  { name: target, spec }: Pick<ChosenTarget, 'name' | 'spec'>,
  revisionId: string,
): (line: LogLine) => void {
  const secrets = knownSecrets(spec, environment);
  return ({ stage, message: written, timestamp }) => {
    const message = removeSecrets(written, secrets);
    output.event({ event: 'log', target, revisionId, stage, message, timestamp });
    const time = timestamp === null ? '' : `${new Date(timestamp).toISOString().slice(11, 19)} `;
    output.print(`${output.style.faint(`${time}${stage.padEnd(STAGE_WIDTH)}`)} ${message.trimEnd()}`);
  };
}

const LINES = 20;

/** Prints the end of the log of a revision that was not built or did not start, or the command that shows it. */
export async function printFailedRevision(
  context: CommandContext,
  { name: target, spec }: Pick<ChosenTarget, 'name' | 'spec'>,
  result: ReleaseResult,
): Promise<void> {
  const { output } = context;
  const revisionId = result.revisionId ?? '';
  const command = `slipway logs ${target} --revision ${revisionId}`;
  try {
    const lines = (await failedRevisionLines(context, spec, result, LINES)) ?? [];
    if (lines.length === 0) return;
    output.print(`The last lines of revision ${revisionId} (all of them: ${command}):`);
    lines.forEach(logPrinter(context, { name: target, spec }, revisionId));
  } catch (error) {
    if (!(error instanceof SlipwayError)) throw error;
    output.note(`to see why the revision failed, run this with access to the control plane: ${command}`);
  }
}
