import { formatDuration } from '../../../domain/duration.ts';
import { describeUndelivered } from '../../../domain/notify/undelivered.ts';
import { pastOfRow } from '../../../domain/release/pastRelease.ts';
import { describeDrift, describeExtraRevision } from '../../../domain/story.ts';
import type { TargetState } from '../../../domain/target/targetState.ts';
import { counted } from '../../ui/counted.ts';
import { fitLine } from '../../ui/progressLines.ts';
import { MARKS, type Style } from '../../ui/style.ts';
import { describeHold } from '../target/localHold.ts';
import { endedLine } from './endedLine.ts';
import { runningLines } from './runningLines.ts';
import { describedText, describeRevision, servesLines } from './servesLines.ts';
import type { TargetStatus } from './targetStatus.ts';
import { unansweredLines } from './unansweredLines.ts';

const REASON_MAX_CHARACTERS = 160;

/**
 * A target's status, for people.
 *
 * @param last - how many ended releases are shown.
 * @param now - in milliseconds since 1970.
 * @param columns - the terminal's width.
 */
export function statusLines(
  status: TargetStatus,
  last: number,
  now: number,
  style: Style,
  columns = Infinity,
): readonly string[] {
  const { target, view, progress, localHold, workflowUrl, unanswered, deployment } = status;
  const lines = [style.strong(target)];
  if (localHold !== undefined) {
    lines.push(`  ${style.warn(`${describeHold(localHold)} (by break-glass, on this machine)`)}`);
  }
  if (unanswered !== undefined) {
    lines.push(...unansweredLines(unanswered, { deployment, restoredHere: localHold?.to }, now, style));
    return workflowUrl === null ? lines : [...lines, `  Temporal ${workflowUrl}`];
  }
  if (view === undefined) return [...lines, '  has never taken a release'];
  const { state, running } = view;
  if (state.needsPerson !== null) {
    const { releaseId, since, instructions } = state.needsPerson;
    const ago = formatDuration(Math.max(now - Date.parse(since), 0));
    lines.push(`  ${style.bad(`${MARKS.failed} NEEDS A PERSON, since ${releaseId} ended ${ago} ago`)}`);
    lines.push(...instructions.split('\n').map((line) => `    ${line}`));
  }
  const describe = (revisionId: string): string =>
    describedText(describeRevision(state, running, progress, revisionId), now);
  const serves = { deployment, known: state.activeRevisionId, restoredHere: localHold?.to };
  lines.push(...servesLines(serves, describe, style));
  if (state.drift !== null) lines.push(`  ${style.warn(describeDrift(state.drift))}`);
  for (const extra of state.extras) lines.push(`  ${style.warn(describeExtraRevision(extra))}`);
  lines.push(...watchedLines(state));
  if (state.hold !== null) lines.push(`  ${style.warn(describeHold(state.hold))}`);
  lines.push(`  running  ${running === null ? 'nothing' : running.releaseId}`);
  if (progress !== undefined) {
    const { call, buildLog } = status;
    lines.push(...runningLines({ progress, call, buildLog, addressed: target }, now, style, columns));
  }
  for (const request of state.rollbacks) {
    lines.push(
      `  waiting  rollback to ${request.to ?? 'the newest verified revision'}, by ${request.requestedBy.who}`,
    );
  }
  for (const { releaseId, queuedAt, request } of state.queue) {
    const waited = formatDuration(now - Date.parse(queuedAt));
    lines.push(`  waiting  ${releaseId} by ${request.requestedBy.who}, for ${waited}`);
  }
  for (const { artifact, by } of state.quarantined) {
    const why = by.reason === undefined ? '' : `: ${fitLine(by.reason, REASON_MAX_CHARACTERS)}`;
    lines.push(`  ${style.warn(`quarantine ${artifact}, by ${by.who}${why}`)}`);
  }
  const untold = state.undelivered?.at(-1);
  if (untold !== undefined) {
    const why = fitLine(describeUndelivered(untold), REASON_MAX_CHARACTERS);
    lines.push(`  ${style.warn(why)}`);
  }
  const ignored = state.ignored.at(-1);
  if (ignored !== undefined) {
    const ago = formatDuration(Math.max(now - Date.parse(ignored.at), 0));
    const count = counted(state.ignored.length, 'message');
    const why = fitLine(`${ignored.message}, ${ignored.reason}`, REASON_MAX_CHARACTERS);
    lines.push(`  ignored  ${count}; the last, ${ago} ago: ${why}`);
  }
  if (state.history.length > 0) lines.push('  last');
  for (const row of state.history.slice(-last).reverse()) lines.push(endedLine(pastOfRow(row), now, style));
  if (workflowUrl !== null) lines.push(`  Temporal ${workflowUrl}`);
  return lines;
}

/** What the target looks out for that may come late. */
function watchedLines({ late, lateUploads }: TargetState): readonly string[] {
  return [
    ...late.map(
      ({ revisionId, until }) => `revision ${revisionId}, abandoned, which may become active until ${until}`,
    ),
    ...lateUploads.map(
      ({ releaseId, until }) =>
        `a PATCH of ${releaseId} without an answer, which may take effect until ${until}`,
    ),
  ].map((what) => `  watches  ${what}`);
}
