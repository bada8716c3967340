import { type Bound, jsonBytes, newest } from '../bounds.ts';
import { type HookDelivery, type HookEvent, type HookOrder, tallyKey } from './hookEvent.ts';
import type { HookDecision, HookEvents, HookRow, HookState, HookWork } from './hookState.ts';

const MATCHED: Bound = { items: 100, bytes: 200_000 };
const UNMATCHED: Bound = { items: 50, bytes: 50_000 };
const PAST_MAX = 10_000;
const QUEUE: Bound = { items: 200, bytes: 200_000 };
const ORDERS_MAX_BYTES = 600_000;

/** The answer to a delivered event. */
export interface HookAnswer {
  readonly id: string;
  /**
   * `taken`: a rule matches; the decision follows. `duplicate`: it arrived before. `unmatched`: no rule matches. `full`: it
   * was not taken, because too many events wait.
   */
  readonly disposition: 'taken' | 'duplicate' | 'unmatched' | 'full';
  /** The decisions so far. Empty if it is a duplicate of an event that the hook no longer lists. */
  readonly decisions: readonly HookDecision[];
  /** What became of an event that the hook no longer lists. */
  readonly became?: readonly string[];
}

/** Stores delivered events. Each counts once, even if it is delivered several times. */
export function takeDelivery(
  state: HookState,
  { events, orders }: HookDelivery,
  now: number,
): { readonly state: HookState; readonly answers: readonly HookAnswer[] } {
  const past = new Map(state.past.map(readPast));
  const rows = new Map(state.rows.map((row) => [row.id, row]));
  const { queue, orders: known } = state;
  let room: Room = { queue, orders: known, bytes: jsonBytes(queue), orderBytes: jsonBytes(known) };
  const answers = events.map(({ matches, ...delivered }): HookAnswer => {
    const event = { ...delivered, id: idOf(rows.values(), past, delivered) };
    const { id, moved, title, status } = event;
    const earlier = rows.get(id);
    if (earlier !== undefined) {
      rows.set(id, { ...earlier, deliveries: earlier.deliveries + 1 });
      return { id, disposition: 'duplicate', decisions: earlier.decisions };
    }
    const became = past.get(id);
    if (became !== undefined) return { id, disposition: 'duplicate', decisions: [], became };
    const works = matches.flatMap(({ rule, guards, order: index }): Ordered[] => {
      const order = orders[index];
      if (order === undefined) return [];
      return [{ work: { event, rule, target: order.target, guards, at: now }, order }];
    });
    const taken = queueAll(room, works);
    if (taken === undefined) return { id, disposition: 'full', decisions: [] };
    room = taken.room;
    const decisions = works.map(({ work: { rule, target }, order }, index): HookDecision => {
      const of = { rule, target, targetId: order.workflowId, do: order.do };
      return taken.queued[index] === true
        ? { ...of, state: 'waiting', note: 'it is decided soon' }
        : { ...of, state: 'failed', note: 'the event asks for too much at once' };
    });
    rows.set(id, { id, moved, title, status, at: new Date(now).toISOString(), deliveries: 1, decisions });
    return { id, disposition: decisions.length > 0 ? 'taken' : 'unmatched', decisions };
  });
  const all = [...rows.values()];
  const kept = keptRows(all);
  const dropped = all.filter((row) => row.decisions.length > 0 && !kept.has(row)).map(pastOf);
  return {
    state: {
      ...state,
      orders: room.orders,
      queue: room.queue,
      rows: all.filter((row) => kept.has(row)),
      past: [...state.past, ...dropped].slice(-PAST_MAX),
    },
    answers,
  };
}

/** The events of a delivery that were not taken, because too many waited. */
export function fullOf({ events, orders }: HookDelivery, answers: readonly HookAnswer[]): HookDelivery {
  return { events: events.filter((_, index) => answers[index]?.disposition === 'full'), orders };
}

/** The answers after those events were delivered again. */
export function retaken(answers: readonly HookAnswer[], again: readonly HookAnswer[]): readonly HookAnswer[] {
  const left = [...again];
  return answers.map((answer) => (answer.disposition === 'full' ? (left.shift() ?? answer) : answer));
}

/** Whether an event that matched a rule, or is listed, has arrived before. */
export function isKnownEvent(
  { rows, past }: Pick<HookState, 'rows' | 'past'>,
  event: Pick<HookEvent, 'id' | 'moved'>,
): boolean {
  const earlier = new Map(past.map(readPast));
  const id = idOf(rows, earlier, event);
  return rows.some((row) => row.id === id) || earlier.has(id);
}

/** Between an event's own id and the number of its move. */
const MOVE = '.';

/**
 * The id of an event among those of the hook: its own, if it moved nothing. If the newest move of the same thing was an
 * equal one, this is another delivery of it. Otherwise it is new, and has a number if it has been there before.
 * @param past - the earlier events, by id.
 */
function idOf(
  rows: Iterable<HookRow>,
  past: ReadonlyMap<string, unknown>,
  { id, moved }: Pick<HookEvent, 'id' | 'moved'>,
): string {
  if (moved === undefined) return id;
  const moves = [...rows].filter((row) => row.moved === moved).map((row) => row.id);
  const last = moves.at(-1);
  if (last?.split(MOVE)[0] === id) return last;
  let fresh = id;
  for (let move = 2; past.has(fresh) || moves.includes(fresh); move++) fresh = `${id}${MOVE}${move}`;
  return fresh;
}

/** Work, and the order of its rule. */
interface Ordered {
  readonly work: HookWork;
  readonly order: HookOrder;
}

/** The queue of a hook, the orders that its work needs, and the size of both as JSON. */
interface Room extends Pick<HookState, 'queue' | 'orders'> {
  readonly bytes: number;
  readonly orderBytes: number;
}

/**
 * Queues the work of one event.
 * @returns the room left, and which work was queued; `undefined`: some has no room, and nothing was queued. If nothing
 *   else waits, the event would never have more room, so what fits is queued.
 */
function queueAll(
  before: Room,
  works: readonly Ordered[],
): { readonly room: Room; readonly queued: readonly boolean[] } | undefined {
  let room = before;
  const queued = works.map((ordered) => {
    const after = queueOne(room, ordered);
    room = after ?? room;
    return after !== undefined;
  });
  return before.queue.length > 0 && queued.includes(false) ? undefined : { room, queued };
}

function queueOne({ queue, orders, ...used }: Room, { work, order }: Ordered): Room | undefined {
  const key = tallyKey(work.rule, work);
  const known = orders[key];
  const bytes = used.bytes + jsonBytes(work) + 1;
  const orderBytes = used.orderBytes + jsonBytes(order) - (known === undefined ? 0 : jsonBytes(known));
  if (queue.length >= QUEUE.items || bytes > QUEUE.bytes || orderBytes > ORDERS_MAX_BYTES) return undefined;
  return { queue: [...queue, work], orders: { ...orders, [key]: order }, bytes, orderBytes };
}

/** The listed events: those without a final decision, and the newest others. Unmatched events have a list of their own. */
function keptRows(rows: readonly HookRow[]): ReadonlySet<HookRow> {
  const isLive = ({ decisions }: HookRow): boolean =>
    decisions.some(({ state }) => state === 'waiting' || state === 'needs_approval');
  const matched = rows.filter((row) => row.decisions.length > 0 && !isLive(row));
  const unmatched = rows.filter(({ decisions }) => decisions.length === 0);
  return new Set([...rows.filter(isLive), ...newest(matched, MATCHED), ...newest(unmatched, UNMATCHED)]);
}

/** An event that is no longer listed, with what became of it. */
function pastOf({ id, decisions }: HookRow): string {
  return `${id} ${[...new Set(decisions.map(({ state }) => state))].join(',')}`;
}

/** The id of an earlier event, and what became of it. */
function readPast(past: string): readonly [id: string, became: readonly string[]] {
  const end = past.lastIndexOf(' ');
  return [past.slice(0, end), past.slice(end + 1).split(',')];
}

/** The events that people look at. */
export function eventsOf({ rows, past, tallies }: HookState): HookEvents {
  const counts = new Map<string, number>();
  for (const became of past.flatMap((line) => readPast(line)[1]))
    counts.set(became, (counts.get(became) ?? 0) + 1);
  return {
    rows,
    past: Object.fromEntries(counts),
    tallies: Object.fromEntries(
      Object.entries(tallies).map(([key, { counted, actedAt }]) => [
        key,
        { counted: counted.length, countedAt: counted.at(-1), actedAt },
      ]),
    ),
  };
}
