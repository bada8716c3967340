import { formatDuration } from '../../../domain/duration.ts';
import type { PastRelease } from '../../../domain/release/pastRelease.ts';
import { fitLine } from '../../ui/progressLines.ts';
import { MARKS, type Style } from '../../ui/style.ts';
import { outcomeCell } from '../history/historyLines.ts';

const REASON_MAX_CHARACTERS = 160;

/** A release or a rollback that has ended, for people, in one line. `now` in milliseconds since 1970. */
export function endedLine(past: PastRelease, now: number, style: Style): string {
  const { releaseId, endedAt, requestedBy, reason } = past;
  // Its mark stands first in the line, its word in the middle.
  const { text, paint = (plain: string) => plain } = outcomeCell(past, style);
  const mark = text.startsWith(MARKS.done) ? MARKS.done : MARKS.failed;
  const word = text.slice(text.indexOf(' ') + 1);
  const ago = endedAt === null ? '' : ` ${formatDuration(Math.max(now - Date.parse(endedAt), 0))} ago`;
  const { who, reason: why } = requestedBy;
  const by = why === undefined ? who : `${who} (${fitLine(why, REASON_MAX_CHARACTERS)})`;
  const came = reason === null ? '' : `: ${fitLine(reason, REASON_MAX_CHARACTERS)}`;
  return `    ${paint(mark)} ${releaseId}: ${word}${ago}, by ${by}${came}`;
}
