import { formatDuration } from '../../../domain/duration.ts';
import { outcomeExitCode } from '../../../domain/release/outcome.ts';
import { describeTimes } from '../../../domain/schedule/schedule.ts';
import { describeJudgement } from '../../../domain/story.ts';
import type { PromotionView } from '../../../temporal/client/promotion/promotionClient.ts';
import type { ExistingSchedule } from '../../../temporal/client/schedule/schedules.ts';
import { OUTCOME_WORDS } from '../../ui/endingText.ts';
import { fitLine } from '../../ui/progressLines.ts';
import { MARKS, type Style } from '../../ui/style.ts';
import { runningLines } from '../status/runningLines.ts';
import type { PromotionStatus } from './promotionStatus.ts';

const REASON_MAX_CHARACTERS = 160;

/** A promotion's status, for people. `now` in milliseconds since 1970. */
export function promotionLines(
  { name, from, to, view, schedule, workflowUrl }: PromotionStatus,
  now: number,
  style: Style,
): readonly string[] {
  return [
    `${style.strong(name)}: ${from} → ${to}`,
    ...viewLines(name, view, now, style),
    ...(schedule === undefined ? [] : scheduleLines(schedule, style)),
    ...(workflowUrl === null ? [] : [`  Temporal ${workflowUrl}`]),
  ];
}

function viewLines(name: string, view: PromotionView, now: number, style: Style): readonly string[] {
  switch (view.state) {
    case 'none':
      return ['  has never run, or Temporal no longer keeps it'];
    case 'stopped':
      return [`  ${style.bad(`${MARKS.failed} ended without a result: its workflow is ${view.status}`)}`];
    case 'running': {
      const { progress } = view;
      if (progress === undefined) return ['  running  no worker answers'];
      const judged = progress.judgement === undefined ? [] : [judgedLine(progress.judgement)];
      return [
        `  running  ${progress.phase}`,
        ...runningLines({ progress, addressed: `--promotion ${name}`, call: null, buildLog: [] }, now, style),
        ...judged,
      ];
    }
    case 'ended': {
      const { outcome, reason, nothingToDo, endedAt, requestedBy, judgement } = view.result;
      const good = outcomeExitCode('release', outcome) === 0;
      const mark = good ? style.good(MARKS.done) : style.bad(MARKS.failed);
      const words = nothingToDo ? 'nothing to do' : OUTCOME_WORDS[outcome];
      const ago = formatDuration(Math.max(now - Date.parse(endedAt), 0));
      const why = fitLine(reason, REASON_MAX_CHARACTERS);
      return [
        `  last     ${mark} ${words} ${ago} ago, by ${requestedBy.who}: ${why}`,
        // A record of before there were judges has none.
        ...(judgement == null ? [] : [judgedLine(judgement)]),
      ];
    }
  }
}

function judgedLine(judgement: Parameters<typeof describeJudgement>[0]): string {
  return `  judged   ${fitLine(describeJudgement(judgement), 2 * REASON_MAX_CHARACTERS)}`;
}

function scheduleLines({ schedule, paused, note, next }: ExistingSchedule, style: Style): readonly string[] {
  const times = `  schedule ${describeTimes(schedule)}`;
  if (paused) {
    const by = note === null || note === '' ? '' : ` by ${note}`;
    return [times, `  ${style.warn(`paused${by}`)}`];
  }
  return next[0] === undefined ? [times] : [`${times}; next: ${next[0]}`];
}
