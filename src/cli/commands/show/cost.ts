import { waitingCost } from '../../../domain/cost/waitingCost.ts';
import type { PastRelease } from '../../../domain/release/pastRelease.ts';
import type { TemporalConnection } from '../../../temporal/client/connection.ts';
import {
  ACTIONS_OF_TARGET,
  type BilledActions,
  billedActions,
  type HistoryCost,
} from '../../../temporal/history/billedActions.ts';
import { fetchHistory } from '../../../temporal/history/fetchHistories.ts';
import type { CommandContext } from '../../context.ts';
import type { EventOf } from '../../events/index.ts';

/** The default of `slipway.yaml`. */
const CHECK_EVERY_MS = 5 * 60_000;

/** Prints what Temporal Cloud bills for a release, counted in its history, and what waiting costs. */
export async function printCost(
  { output }: CommandContext,
  temporal: TemporalConnection,
  target: { readonly name: string; readonly workflowId: string },
  { releaseId, kind }: Pick<PastRelease, 'releaseId' | 'kind'>,
): Promise<void> {
  const workflowId = `${target.workflowId}/${releaseId}`;
  const history = await fetchHistory(temporal, workflowId);
  const cost: EventOf<'cost'> = {
    event: 'cost',
    target: target.name,
    releaseId,
    history: history === undefined ? null : billedActions(history.events ?? []),
    ofTarget: ACTIONS_OF_TARGET[kind],
    waiting: waitingCost(CHECK_EVERY_MS),
  };
  output.event(cost);
  for (const line of costLines(cost)) output.print(line);
}

export function costLines({
  history,
  ofTarget,
  waiting,
}: Pick<EventOf<'cost'>, 'history' | 'ofTarget' | 'waiting'>): readonly string[] {
  return [
    '  billed actions in Temporal Cloud',
    ...(history === null
      ? ['    not known: Temporal no longer has the history of this release']
      : historyLines(history, ofTarget)),
    `    an hour of waiting for a revision: ${waiting.parkedHour}, and ${waiting.pollerHour} for its poller, which others share`,
    `    a day of soak with checks every 5 minutes: ${waiting.soakedDay}`,
  ];
}

const KINDS: Readonly<Record<keyof BilledActions, readonly [one: string, several: string]>> = {
  starts: ['start', 'starts'],
  children: ['start of a child', 'starts of children'],
  attempts: ['attempt at an activity', 'attempts at activities'],
  localActivities: ['task with local activities', 'tasks with local activities'],
  timers: ['timer', 'timers'],
  signals: ['signal', 'signals'],
  updates: ['update', 'updates'],
  searchAttributes: ['change of search attributes', 'changes of search attributes'],
  options: ['change of its options', 'changes of its options'],
};

function historyLines(
  { actions, total, heartbeatsAtMost }: HistoryCost,
  ofTarget: number,
): readonly string[] {
  const kinds = (Object.keys(KINDS) as (keyof BilledActions)[]).filter((kind) => actions[kind] > 0);
  const parts = kinds.map((kind) => `${actions[kind]} ${KINDS[kind][actions[kind] === 1 ? 0 : 1]}`);
  const heartbeats = heartbeatsAtMost === 0 ? '' : `, and at most ${heartbeatsAtMost} for heartbeats`;
  return [
    `    this release: ${total + ofTarget}${heartbeats}`,
    `      its history ${total}: ${parts.join(', ')}`,
    `      its target ${ofTarget}: the request, the start, what it reads and writes`,
  ];
}
