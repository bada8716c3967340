import { type Bound, newest } from '../bounds.ts';
import type { TargetState } from '../target/targetState.ts';

/** A notice that could not be delivered to a receiver. */
export interface Undelivered {
  /** When the worker gave up. */
  readonly at: string;
  /** The receiver's name. */
  readonly receiver: string;
  /** What the notice reports: one of the events of docs/notifications.md. */
  readonly event: string;
  /** The release or the promotion that it reports. `null`: a hold. */
  readonly name: string | null;
  readonly reason: string;
}

const UNDELIVERED: Bound = { items: 20, bytes: 30_000 };

/** Keeps a notice that was not delivered, for who asks how the target is. */
export function noteUndelivered(state: TargetState, undelivered: Undelivered): TargetState {
  return { ...state, undelivered: newest([...(state.undelivered ?? []), undelivered], UNDELIVERED) };
}

/** An undelivered notice in words. */
export function undeliveredWords({ receiver, event, name, at, reason }: Undelivered): string {
  const what = name === null ? event : `${event} of ${name}`;
  return `"${receiver}" could not be told of ${what}, given up at ${at}: ${reason}`;
}
