import type { Output } from '../output.ts';
import type { LogLine } from './revisionLog.ts';

const STAGE_WIDTH = 'deploy'.length;

/** Says one line of a revision's log. */
export function sayLine(
  output: Output,
  about: { readonly target: string; readonly revisionId: string },
  { stage, message, timestamp }: LogLine,
): void {
  output.event({ event: 'log', ...about, stage, message, timestamp });
  const time = timestamp === null ? '' : `${new Date(timestamp).toISOString().slice(11, 19)} `;
  output.say(`${output.style.faint(`${time}${stage.padEnd(STAGE_WIDTH)}`)} ${message.trimEnd()}`);
}
