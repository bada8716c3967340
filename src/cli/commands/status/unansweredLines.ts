import type { WorkFact } from '../../../domain/audit/facts.ts';
import { wordsOf } from '../../../domain/deployment/revisionName.ts';
import { formatDuration } from '../../../domain/duration.ts';
import type { KeptMessage } from '../../../temporal/history/keptTarget.ts';
import type { Style } from '../../ui/style.ts';
import { endedLine } from './endedLine.ts';
import { describedText, type Serves, servesLines } from './servesLines.ts';
import type { Unanswered } from './targetStatus.ts';

/** The fields of a status that only a worker can tell. */
export const UNKNOWN_FIELDS = [
  'progress',
  'queue',
  'rollbacks',
  'hold',
  'quarantined',
  'drift',
  'needsPerson',
  'ignored',
  'undelivered',
  'said',
] as const;

const UNKNOWN_WORDS = 'queue, hold, quarantine, changes by hand, whether a person is needed, past commands';

/** The status of a target that no worker speaks for, for people. `now` in milliseconds since 1970. */
export function unansweredLines(
  { silence, kept }: Unanswered,
  serves: Omit<Serves, 'known'>,
  now: number,
  style: Style,
): readonly string[] {
  const { running, servingRevisionId, ended, messages } = kept;
  const describe = (revisionId: string): string => {
    const words = wordsOf({ known: [], history: ended }, revisionId);
    return describedText({ ...words, verified: null, at: null, copyOf: null }, now);
  };
  const lines = [
    `  ${style.warn(`${silence.message}: this comes from Temporal and the control plane`)}`,
    ...servesLines({ ...serves, known: servingRevisionId }, describe, style),
    ...(running === null ? ['  running  nothing'] : runningLines(running, now)),
    ...messages.map((message) => messageLine(message, now)),
  ];
  if (ended.length > 0) lines.push('  last');
  for (const past of ended.toReversed()) lines.push(endedLine(past, now, style));
  return [...lines, `  unknown  ${UNKNOWN_WORDS}`];
}

/** What it does is known by the calls that have begun and have not ended. */
function runningLines({ workflowId, startedAt, activities }: WorkFact, now: number): string[] {
  const releaseId = workflowId.slice(workflowId.lastIndexOf('/') + 1);
  const open = activities.filter(({ outcome }) => outcome === 'open');
  return [
    `  running  ${releaseId}, for ${elapsed(startedAt, now)}, by its history`,
    ...open.map(({ name, scheduledAt }) => `    ${name} has not ended, since ${elapsed(scheduledAt, now)}`),
  ];
}

function messageLine({ message, at, who, reason }: KeptMessage, now: number): string {
  const by = who === null ? '' : ` by ${who}`;
  const why = reason === null ? '' : ` (${reason})`;
  return `  kept     ${message}${by}${why}, sent ${elapsed(Date.parse(at), now)} ago: it waits for a worker`;
}

function elapsed(since: number, now: number): string {
  return formatDuration(Math.max(now - since, 0));
}
