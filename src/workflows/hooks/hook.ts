import {
  allHandlersFinished,
  CancellationScope,
  condition,
  continueAsNew,
  proxyActivities,
  setCurrentDetails,
  setHandler,
} from '@temporalio/workflow';

import type { Activities } from '../../activities/activities.ts';
import { decide } from '../../domain/hooks/decide.ts';
import { type HookOrder, tallyKey } from '../../domain/hooks/hookEvent.ts';
import {
  answerAsk,
  ask,
  EMPTY_HOOK,
  type HookAsk,
  type HookState,
  type HookWork,
  isAsking,
  settle,
  settledAsk,
  takeDelivery,
  type TakenWork,
  takeWork,
} from '../../domain/hooks/hookState.ts';
import { describeHook, hookActor, hookRequestId } from '../../domain/hooks/hookText.ts';
import {
  answerHookUpdate,
  deliveryProblem,
  hookQuery,
  readAnswerHook,
  tellHookUpdate,
} from '../../messages/hooks.ts';
import type { HookInput } from '../../messages/workflowTypes.ts';
import { explain, refuse } from '../failure.ts';
import { RunLength } from '../target/runLength.ts';
import { takeUnknownSignals } from '../unknownSignals.ts';

/** Time to deliver an order to a target: a worker or Temporal may be down for a while. */
const ASKED_WITHIN = '10 minutes';

/**
 * Owns a hook of `slipway.yaml`. It stores each event once, evaluates the guards of the matching rules, and sends
 * targets the messages that people send. Listeners are stateless: any number of them may send it events.
 */
export async function hook(input: HookInput): Promise<void> {
  // A cancellation would lose the events.
  await CancellationScope.nonCancellable(() => listen(input));
}

async function listen({
  name,
  state: carried = EMPTY_HOOK,
  continueAsNewAfterEvents,
}: HookInput): Promise<void> {
  let state: HookState = carried;
  const runLength = new RunLength(continueAsNewAfterEvents);
  const { lookForHook, carryOutOrder } = proxyActivities<Activities>({
    startToCloseTimeout: '35 seconds',
    scheduleToCloseTimeout: ASKED_WITHIN,
    // Detects a worker that was killed during an order.
    heartbeatTimeout: '5 seconds',
    retry: { initialInterval: '200 milliseconds', maximumInterval: '10 seconds' },
  });
  const change = (next: HookState): void => {
    state = next;
    runLength.note();
    setCurrentDetails(describeHook(name, state));
  };

  setHandler(
    tellHookUpdate,
    (delivery) => {
      runLength.updateTaken();
      const taken = takeDelivery(state, delivery, Date.now());
      change(taken.state);
      return taken.answers;
    },
    {
      description: 'Take events; each counts once',
      validator: (delivery) => {
        const problem = deliveryProblem(delivery);
        if (problem !== undefined) refuse(problem);
      },
    },
  );
  setHandler(
    answerHookUpdate,
    (raw) => {
      runLength.updateTaken();
      const answer = readAnswerHook(raw);
      if (typeof answer === 'string') return refuse(answer);
      const { event, approved, by } = answer;
      const next = answerAsk(state, event, { approved, by });
      if (next === null) return refuse(`no event "${event}" waits for approval`, 'SLIPWAY_WRONG_MOMENT');
      change(next);
      return approved;
    },
    {
      description: 'Approve or reject what waits for approval of an event',
      validator: (raw) => {
        const answer = readAnswerHook(raw);
        if (typeof answer === 'string') refuse(answer);
      },
    },
  );
  setHandler(hookQuery, () => state, { description: 'Events, and what became of them' });

  const act = async (work: HookWork, order: HookOrder, serving?: string): Promise<void> => {
    const requestId = hookRequestId(work);
    try {
      const { note } = await carryOutOrder({ order, requestId, serving, by: hookActor(name, work) });
      change(settle(state, work, 'carried_out', note, Date.now()));
    } catch (error) {
      change(settle(state, work, 'failed', explain(error).message));
    }
  };
  const answerOf = async ({ work, serving, answer }: HookAsk): Promise<void> => {
    const order = state.orders[tallyKey(work.rule, work)];
    if (answer?.approved === true && order !== undefined) return act(work, order, serving);
    const why = answer === undefined ? 'no person approved in time' : `rejected by ${answer.by.who}`;
    change(settle(state, work, 'rejected', why));
  };
  const decideOn = async ({ work, order, tally }: TakenWork): Promise<void> => {
    const { guards, event } = work;
    const situation = { guards, event, tally, isAsking: isAsking(state, work), now: Date.now() };
    let verdict = decide(situation);
    if (verdict.kind === 'look') {
      try {
        const { facts } = await lookForHook({
          workflowId: order.workflowId,
          hours: guards.approval,
          at: Date.now(),
        });
        verdict = decide({ ...situation, isAsking: isAsking(state, work), facts, now: Date.now() });
      } catch (error) {
        change(settle(state, work, 'failed', explain(error).message));
        return;
      }
    }
    if (verdict.kind === 'act') await act(work, order, verdict.serving);
    else if (verdict.kind === 'not_met') change(settle(state, work, 'not_met', verdict.note));
    else if (verdict.kind === 'ask') {
      const { untilMs, serving, note } = verdict;
      change(ask(state, { work, untilMs, serving }, note));
    }
  };

  /** The targets with an order in progress. A slow target does not delay the others. */
  const busy = new Set<string>();
  const askTarget = (target: string, work: () => Promise<void>): void => {
    busy.add(target);
    void work().finally(() => busy.delete(target));
  };

  change(state);
  for (;;) {
    takeUnknownSignals(() => undefined);
    const answered = settledAsk(state, Date.now(), busy);
    if (answered !== undefined) {
      askTarget(answered.work.target, () => answerOf(answered));
      continue;
    }
    // After Continue-As-New, the next run takes the queued work.
    const next = runLength.isReached ? undefined : takeWork(state, busy);
    if (next !== undefined) {
      change(next.state);
      askTarget(next.work.target, () => decideOn(next));
      continue;
    }
    if (runLength.isReached && busy.size === 0) {
      if (await runLength.canEnd(() => false))
        await continueAsNew<typeof hook>({ name, state, continueAsNewAfterEvents });
      runLength.note();
      continue;
    }
    await untilNews();
  }

  /** Waits for an event, an answer, or the deadline of an approval. */
  async function untilNews(): Promise<void> {
    const { asks } = state;
    const isNews = (): boolean =>
      (runLength.isReached
        ? busy.size === 0 && allHandlersFinished()
        : state.queue.some(({ target }) => !busy.has(target))) ||
      state.asks !== asks ||
      settledAsk(state, Date.now(), busy) !== undefined;
    const ends = asks.filter(({ work }) => !busy.has(work.target)).map(({ untilMs }) => untilMs);
    if (ends.length === 0) await condition(isNews);
    else await condition(isNews, Math.max(Math.min(...ends) - Date.now(), 1));
  }
}
