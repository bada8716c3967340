import type { Actor } from '../actor.ts';
import { cutText } from '../bounds.ts';
import type { Instant, WholeNumber } from '../scalars.ts';
import { acted, counted, type HookSubject, type HookTally } from './decide.ts';
import { type HookAction, type HookEvent, type HookMatch, type HookOrder, tallyKey } from './hookEvent.ts';

/** The decision of one rule about an event on one target. */
export interface HookDecision {
  readonly rule: string;
  readonly target: string;
  /** The id of the target's workflow. */
  readonly targetId: string;
  readonly do: HookAction;
  /**
   * `waiting`: not decided yet. `needs_approval`: a person must approve. `carried_out`: the target took the order.
   * `not_met`: a guard was not met, or the target refused the order or had nothing to do. `rejected`: a person rejected
   * it, or none approved in time. `failed`: the order could not be sent to the target.
   */
  readonly state: 'waiting' | 'needs_approval' | 'carried_out' | 'not_met' | 'rejected' | 'failed';
  readonly note: string;
  /** With `needs_approval`: the deadline of the approval. */
  readonly until?: Instant;
}

/** An event and the decisions about it. */
export interface HookRow extends Omit<HookEvent, 'began'> {
  /** When it first arrived. */
  readonly at: Instant;
  /** How often it was delivered. */
  readonly deliveries: number;
  /** Empty: no rule matched. */
  readonly decisions: readonly HookDecision[];
}

/** An event that waits for the decision of one rule on one target. */
export interface HookWork {
  readonly event: HookEvent;
  readonly rule: string;
  readonly target: string;
  readonly guards: HookMatch['guards'];
  /** When it arrived, in milliseconds since 1970. */
  readonly at: number;
}

/** What came of an order. */
export interface HookEffect extends Pick<HookDecision, 'note'> {
  readonly state: 'carried_out' | 'not_met';
}

/** Work that waits for a person's approval. */
export interface HookAsk extends HookSubject {
  readonly work: HookWork;
  /** In milliseconds since 1970. */
  readonly untilMs: number;
  /** Absent: no person has answered. */
  readonly answer?: { readonly approved: boolean; readonly by: Actor };
}

/** The state of a hook's workflow, kept across Continue-As-New. Bounded in size. */
export interface HookState {
  /** Oldest first. */
  readonly rows: readonly HookRow[];
  /** Earlier events that matched a rule, so that each counts once: `ID STATE,STATE`. Oldest first. */
  readonly past: readonly string[];
  /** By {@link tallyKey}. */
  readonly tallies: Readonly<Record<string, HookTally>>;
  /** The newest order of each rule and target with waiting events, by {@link tallyKey}. */
  readonly orders: Readonly<Record<string, HookOrder>>;
  /** Oldest first. */
  readonly queue: readonly HookWork[];
  readonly asks: readonly HookAsk[];
  /** The request ids of people's answers, so that each counts once. Oldest first. */
  readonly answers: readonly string[];
}

/** The events of a hook that people look at. */
export interface HookEvents {
  /** Oldest first. */
  readonly rows: readonly HookRow[];
  /** How many earlier events had each decision. */
  readonly past: Readonly<Partial<Record<HookDecision['state'], WholeNumber>>>;
  /** By {@link tallyKey}. */
  readonly tallies: Readonly<Record<string, HookCount>>;
}

/** A rule's past on a target, for people. Times are milliseconds since 1970. */
export interface HookCount {
  /** The events that counted towards `atLeast` when the last one arrived. */
  readonly counted: WholeNumber;
  /** When the last of them arrived. Absent: none counts. */
  readonly countedAt?: number;
  /** When the rule last acted. Absent: never, or not recorded. */
  readonly actedAt?: number;
}

export const EMPTY_HOOK: HookState = {
  rows: [],
  past: [],
  tallies: {},
  orders: {},
  queue: [],
  asks: [],
  answers: [],
};

const ASKS_MAX = 20;
const ANSWERS_MAX = 100;
const TALLIES_MAX = 500;
const NOTE_MAX_BYTES = 1_000;

/** Work taken from the queue. */
export interface TakenWork {
  readonly state: HookState;
  readonly work: HookWork;
  readonly order: HookOrder;
  /** Its rule's past, including the event. */
  readonly tally: HookTally;
}

/**
 * Takes the oldest work, and counts its event; `undefined`: none can be taken.
 * @param busy - the targets with an order in progress.
 */
export function takeWork(state: HookState, busy: ReadonlySet<string>): TakenWork | undefined {
  const work = state.queue.find(({ target }) => !busy.has(target));
  if (work === undefined) return undefined;
  const queue = state.queue.filter((other) => other !== work);
  const key = tallyKey(work.rule, work);
  const order = state.orders[key];
  if (order === undefined) return takeWork({ ...state, queue }, busy);
  const tally = counted(state.tallies[key] ?? { counted: [] }, work.guards, work.at);
  return { state: { ...state, queue, tallies: withTally(state, key, tally) }, work, order, tally };
}

/** Whether an event of a rule waits for approval on a target. */
export function isAsking({ asks }: HookState, { rule, target }: Pick<HookWork, 'rule' | 'target'>): boolean {
  return asks.some(({ work }) => work.rule === rule && work.target === target);
}

/** Requests a person's approval for an event. */
export function ask(state: HookState, asked: HookAsk, note: string): HookState {
  if (state.asks.length >= ASKS_MAX)
    return settle(state, asked.work, 'failed', 'too many events wait for approval');
  const until = new Date(asked.untilMs).toISOString();
  const asking = { ...state, asks: [...state.asks, asked] };
  return decided(asking, asked.work, { state: 'needs_approval', note, until });
}

/**
 * Records a person's answer to all approvals that an event waits for; `null`: it waits for none. An answer that arrives
 * again changes nothing. One that arrives after the deadline does not count, even if no worker ran until then.
 */
export function answerAsk(
  state: HookState,
  eventId: string,
  answer: NonNullable<HookAsk['answer']>,
  { requestId, now }: { readonly requestId: string | undefined; readonly now: number },
): HookState | null {
  if (requestId !== undefined && state.answers.includes(requestId)) return state;
  const isMeant = ({ work, answer: given, untilMs }: HookAsk): boolean =>
    work.event.id === eventId && given === undefined && untilMs > now;
  if (!state.asks.some(isMeant)) return null;
  return {
    ...state,
    asks: state.asks.map((asked) => (isMeant(asked) ? { ...asked, answer } : asked)),
    answers: [...state.answers, ...(requestId === undefined ? [] : [requestId])].slice(-ANSWERS_MAX),
  };
}

/**
 * Finds a request for approval that a person has answered, or whose deadline has passed.
 * @param busy - the targets with an order in progress.
 */
export function settledAsk({ asks }: HookState, now: number, busy: ReadonlySet<string>): HookAsk | undefined {
  return asks.find(
    ({ work, answer, untilMs }) => !busy.has(work.target) && (answer !== undefined || untilMs <= now),
  );
}

/** Records the decision about an event, and drops its request for approval and its order if nothing else needs them. */
export function settle(
  state: HookState,
  work: HookWork,
  how: HookDecision['state'],
  note: string,
  actedAt?: number,
): HookState {
  const isAsked = state.asks.some((asked) => asked.work === work);
  const asks = isAsked ? state.asks.filter((asked) => asked.work !== work) : state.asks;
  const key = tallyKey(work.rule, work);
  const tallies = actedAt === undefined ? state.tallies : withTally(state, key, acted(actedAt));
  return withoutOrder(decided({ ...state, asks, tallies }, work, { state: how, note }), key);
}

function decided(
  state: HookState,
  { event, rule, target }: HookWork,
  { state: how, note, until }: Pick<HookDecision, 'state' | 'note' | 'until'>,
): HookState {
  const now = { state: how, note: cutText(note, NOTE_MAX_BYTES), until };
  const rows = state.rows.map((row) => {
    if (row.id !== event.id) return row;
    const decisions = row.decisions.map((decision) =>
      decision.rule === rule && decision.target === target ? { ...decision, ...now } : decision,
    );
    return { ...row, decisions };
  });
  return { ...state, rows };
}

function withTally({ tallies }: HookState, key: string, tally: HookTally): HookState['tallies'] {
  const { [key]: _, ...others } = tallies;
  return Object.fromEntries([...Object.entries(others), [key, tally] as const].slice(-TALLIES_MAX));
}

/** Drops an order that no event waits for. */
function withoutOrder(state: HookState, key: string): HookState {
  const works = [...state.queue, ...state.asks.map(({ work }) => work)];
  if (works.some((work) => tallyKey(work.rule, work) === key)) return state;
  const { [key]: _, ...orders } = state.orders;
  return { ...state, orders };
}
