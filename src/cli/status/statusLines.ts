import { formatDuration } from '../../domain/duration.ts';
import { type HistoryRow } from '../../domain/targetState.ts';
import { OUTCOME_WORDS } from '../follow/endingText.ts';
import { fitLine, stepLine } from '../follow/progressLines.ts';
import { describeHold } from '../rollback/localHold.ts';
import { MARKS, type Style } from '../style.ts';
import { type TargetStatus } from './targetStatus.ts';

const REASON_MAX_CHARACTERS = 160;

/** A target's status, for people. `last`: how many ended releases are shown; `now` in milliseconds since 1970. */
export function statusLines(
  status: TargetStatus,
  last: number,
  now: number,
  style: Style,
): readonly string[] {
  const { target, view, progress, localHold, workflowUrl } = status;
  const lines = [style.strong(target)];
  if (localHold !== undefined) {
    lines.push(`  ${style.warn(`${describeHold(localHold)} (by break-glass, on this machine)`)}`);
  }
  if (view === undefined) return [...lines, '  has never taken a release'];
  const { state, running } = view;
  lines.push(
    `  serves   ${state.activeRevisionId === null ? 'not known' : `revision ${state.activeRevisionId}`}`,
  );
  if (state.hold !== null) lines.push(`  ${style.warn(describeHold(state.hold))}`);
  lines.push(`  running  ${running === null ? 'nothing' : running.releaseId}`);
  for (const step of progress?.steps ?? [])
    lines.push(`  ${stepLine(step, progress?.verdicts ?? [], now, style)}`);
  for (const request of state.rollbacks) {
    lines.push(
      `  waiting  rollback to ${request.to ?? 'the newest verified revision'}, by ${request.requestedBy.who}`,
    );
  }
  for (const { releaseId, queuedAt, request } of state.queue) {
    const waited = formatDuration(now - Date.parse(queuedAt));
    lines.push(`  waiting  ${releaseId} by ${request.requestedBy.who}, for ${waited}`);
  }
  if (state.history.length > 0) lines.push('  last');
  for (const row of state.history.slice(-last).reverse()) lines.push(historyLine(row, now, style));
  if (workflowUrl !== null) lines.push(`  Temporal ${workflowUrl}`);
  return lines;
}

function historyLine(row: HistoryRow, now: number, style: Style): string {
  const good = row.outcome === 'released' || (row.kind === 'rollback' && row.outcome === 'rolled_back');
  const mark = good ? style.good(MARKS.done) : style.bad(MARKS.failed);
  const ago = `${formatDuration(Math.max(now - Date.parse(row.endedAt), 0))} ago`;
  const reason = fitLine(row.reason, REASON_MAX_CHARACTERS);
  return `    ${mark} ${row.releaseId}: ${OUTCOME_WORDS[row.outcome]} ${ago}, by ${row.requestedBy.who}: ${reason}`;
}
