import { removeSecrets } from '../../../clients/removeSecrets.ts';
import { knownSecrets } from '../../../config/secretReference.ts';
import type { CommandContext } from '../../context.ts';
import type { ChosenTarget } from '../target/targetAccess.ts';
import type { LogLine } from './revisionLog.ts';

const STAGE_WIDTH = 'deploy'.length;

/**
 * Prints the lines of a revision's log, without the secrets of its target that this process has: a build or an agent may
 * print them.
 *
 * @returns prints one line.
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
