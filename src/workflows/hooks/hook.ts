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
import type { Actor } from '../../domain/actor.ts';
import { decide, type HookSubject } from '../../domain/hooks/decide.ts';
import { type HookDelivery, type HookFacts, type HookOrder, tallyKey } from '../../domain/hooks/hookEvent.ts';
import {
  answerAsk,
  ask,
  EMPTY_HOOK,
  type HookAsk,
  type HookDecision,
  type HookState,
  type HookWork,
  isAsking,
  settle,
  settledAsk,
  type TakenWork,
  takeWork,
} from '../../domain/hooks/hookState.ts';
import { answeredBy, describeHook, hookActor, hookRequestId } from '../../domain/hooks/hookText.ts';
import { eventsOf, fullOf, type HookAnswer, retaken, takeDelivery } from '../../domain/hooks/takeDelivery.ts';
import { hookWaitingNotice } from '../../domain/notify/noticeContent.ts';
import {
  answerHookUpdate,
  deliveryProblem,
  hookEventsQuery,
  hookQuery,
  readAnswerHook,
  deliverEventsUpdate,
} from '../../messages/hooks.ts';
import type { HookInput } from '../../messages/workflowTypes.ts';
import { explain, refuse } from '../failure.ts';
import { Notices, type Recipients } from '../notify/notices.ts';
import { RunLength } from '../target/runLength.ts';
import { takeUnknownSignals } from '../unknownSignals.ts';

/** How long a delivery waits for room, in milliseconds. Its listener waits for the answer, and so does the sender. */
const ROOM_WITHIN_MS = 4_000;
/** Time to deliver an order to a target, in milliseconds: a worker or Temporal may be down for a while. */
const ASKED_WITHIN_MS = 600_000;

/**
 * Owns a hook of `slipway.yaml`. It stores each event once, evaluates the guards of the matching rules, and sends
 * targets the messages that people send. Listeners are stateless: any number of them may send it events.
 */
export async function hook(input: HookInput): Promise<void> {
  const hooked = new Hook(input);
  // A cancellation would lose the events.
  await CancellationScope.nonCancellable(() => {
    hooked.takeMessages();
    return hooked.run();
  });
}

const { lookForHook, carryOutOrder } = proxyActivities<Activities>({
  startToCloseTimeout: '35 seconds',
  scheduleToCloseTimeout: ASKED_WITHIN_MS,
  // Detects a worker that was killed during an order.
  heartbeatTimeout: '5 seconds',
  retry: { initialInterval: '200 milliseconds', maximumInterval: '10 seconds' },
});

class Hook {
  readonly #input: HookInput;
  readonly #runLength: RunLength;
  /** The targets with an order in progress. A slow target does not delay the others. */
  readonly #busy = new Set<string>();
  readonly #notices = new Notices();
  /** The last look at each target. It serves the events that had arrived by then, until the hook acts on any target. */
  readonly #looks = new Map<string, Look>();
  #state: HookState;

  constructor(input: HookInput) {
    this.#input = input;
    // State from an earlier version lacks newer fields.
    this.#state = { ...EMPTY_HOOK, ...input.state };
    this.#runLength = new RunLength(input.continueAsNewAfterEvents);
  }

  takeMessages(): void {
    setHandler(deliverEventsUpdate, (delivery) => this.#take(delivery), {
      description: 'Take events; each counts once',
      validator: (delivery) => {
        const problem = deliveryProblem(delivery);
        if (problem !== undefined) refuse(problem);
      },
    });
    setHandler(
      answerHookUpdate,
      (raw) => {
        this.#runLength.updateTaken();
        const answer = readAnswerHook(raw);
        if (typeof answer === 'string') return refuse(answer);
        const { event, approved, by, requestId } = answer;
        const next = answerAsk(this.#state, event, { approved, by }, { requestId, now: Date.now() });
        if (next === null) return refuse(`no event "${event}" waits for approval`, 'SLIPWAY_WRONG_MOMENT');
        this.#change(next);
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
    setHandler(hookQuery, () => this.#state, { description: 'The whole state' });
    setHandler(hookEventsQuery, () => eventsOf(this.#state), { description: 'Events and their decisions' });
  }

  /** Takes events. If too many wait, the sender waits a moment for room: so a burst loses nothing. */
  async #take(delivery: HookDelivery): Promise<readonly HookAnswer[]> {
    const until = Date.now() + ROOM_WITHIN_MS;
    let answers = this.#takeNow(delivery);
    const isWaiting = (): boolean =>
      answers.some(({ disposition }) => disposition === 'full') && Date.now() < until;
    while (isWaiting() && !this.#runLength.isReached) {
      const hasRoom = (): boolean => this.#state.queue.length === 0 || this.#runLength.isReached;
      await condition(hasRoom, until - Date.now());
      answers = retaken(answers, this.#takeNow(fullOf(delivery, answers)));
    }
    return answers;
  }

  #takeNow(delivery: HookDelivery): readonly HookAnswer[] {
    this.#runLength.updateTaken();
    const { state, answers } = takeDelivery(this.#state, delivery, Date.now());
    this.#change(state);
    return answers;
  }

  /** Decides about events, one at a time for each target, until this run continues as new. */
  async run(): Promise<never> {
    this.#change(this.#state);
    for (;;) {
      takeUnknownSignals(() => undefined);
      const answered = settledAsk(this.#state, Date.now(), this.#busy);
      if (answered !== undefined) {
        this.#work(answered.work.target, () => this.#settleAsk(answered));
        continue;
      }
      // After Continue-As-New, the next run takes the queued work.
      const next = this.#runLength.isReached ? undefined : takeWork(this.#state, this.#busy);
      if (next !== undefined) {
        this.#change(next.state);
        this.#work(next.work.target, () => this.#decide(next));
        continue;
      }
      if (this.#runLength.isReached && this.#busy.size === 0) {
        await this.#notices.begun();
        if ((await this.#runLength.canEnd(() => false)) && this.#notices.allBegun)
          await continueAsNew<typeof hook>({ ...this.#input, state: this.#state });
        this.#runLength.note();
        continue;
      }
      await this.#untilNews();
    }
  }

  #change(next: HookState): void {
    this.#state = next;
    this.#runLength.note();
    setCurrentDetails(describeHook(this.#input.name, next));
  }

  #settle(work: HookWork, how: HookDecision['state'], note: string, actedAt?: number): void {
    this.#change(settle(this.#state, work, how, note, actedAt));
  }

  #work(target: string, work: () => Promise<void>): void {
    this.#busy.add(target);
    void work().finally(() => this.#busy.delete(target));
  }

  async #decide({ work, order, tally }: TakenWork): Promise<void> {
    const { guards, event, at } = work;
    // It waited behind events whose target could not be asked. What it is about may be over.
    if (Date.now() - at > ASKED_WITHIN_MS) {
      this.#settle(work, 'failed', 'its target could not be asked in time');
      return;
    }
    const decideNow = (facts?: HookFacts) =>
      decide({
        do: order.do,
        guards,
        event,
        tally,
        isAsking: isAsking(this.#state, work),
        facts,
        now: Date.now(),
      });
    let verdict = decideNow();
    let look: Look | undefined;
    if (verdict.kind === 'look') {
      try {
        look = await this.#look(work, order);
        verdict = decideNow(look.facts);
      } catch (error) {
        this.#settle(work, 'failed', explain(error).message);
        return;
      }
    }
    if (verdict.kind === 'act') await this.#act(work, order, verdict);
    else if (verdict.kind === 'not_met') this.#settle(work, 'not_met', verdict.note);
    else if (verdict.kind === 'ask') {
      const { untilMs, serving, running, note } = verdict;
      this.#change(ask(this.#state, { work, untilMs, serving, running }, note));
      if (!isAsking(this.#state, work)) return;
      const waiting = { note, until: new Date(untilMs).toISOString() };
      this.#notices.send(hookWaitingNotice(this.#input.name, work, order, waiting), look?.recipients ?? null);
    }
  }

  /** Looks at a target, unless a look that was begun after the event arrived still holds: a flood costs few looks. */
  async #look({ guards, at }: HookWork, { workflowId }: HookOrder): Promise<Look> {
    const { approval: hours } = guards;
    const key = `${workflowId} ${JSON.stringify(hours)}`;
    const before = this.#looks.get(key);
    if (before !== undefined && before.at >= at) return before;
    const lookedAt = Date.now();
    const { facts, recipients } = await lookForHook({ workflowId, hours, at: lookedAt });
    const look = { at: lookedAt, facts, recipients };
    this.#looks.set(key, look);
    return look;
  }

  async #settleAsk(asked: HookAsk): Promise<void> {
    const { work, answer } = asked;
    const order = this.#state.orders[tallyKey(work.rule, work)];
    if (answer?.approved === true && order !== undefined) return this.#act(work, order, asked, answer.by);
    const why = answer === undefined ? 'no person approved in time' : answeredBy('rejected', answer.by);
    this.#settle(work, 'rejected', why);
  }

  async #act(
    work: HookWork,
    order: HookOrder,
    { serving, running }: HookSubject,
    approvedBy?: Actor,
  ): Promise<void> {
    this.#looks.clear();
    const requestId = hookRequestId(this.#input.name, work);
    const by = hookActor(this.#input.name, work, approvedBy);
    const approved = approvedBy === undefined ? '' : `${answeredBy('approved', approvedBy)}; `;
    try {
      const { state, note } = await carryOutOrder({ order, requestId, serving, running, by });
      this.#settle(work, state, `${approved}${note}`, state === 'carried_out' ? Date.now() : undefined);
    } catch (error) {
      this.#settle(work, 'failed', `${approved}${explain(error).message}`);
    }
  }

  /** Waits for an event, an answer, or the deadline of an approval. */
  async #untilNews(): Promise<void> {
    const { asks } = this.#state;
    const isNews = (): boolean =>
      (this.#runLength.isReached
        ? this.#busy.size === 0 && allHandlersFinished()
        : this.#state.queue.some(({ target }) => !this.#busy.has(target))) ||
      this.#state.asks !== asks ||
      settledAsk(this.#state, Date.now(), this.#busy) !== undefined;
    const ends = asks.filter(({ work }) => !this.#busy.has(work.target)).map(({ untilMs }) => untilMs);
    if (ends.length === 0) await condition(isNews);
    else await condition(isNews, Math.max(Math.min(...ends) - Date.now(), 1));
  }
}

interface Look {
  /** When it was begun, in milliseconds since 1970. */
  readonly at: number;
  readonly facts: HookFacts;
  readonly recipients: Recipients | undefined;
}
