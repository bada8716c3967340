import { type Bound, newest } from '../bounds.ts';
import type { TargetState, Undelivered } from '../target/targetState.ts';

const UNDELIVERED: Bound = { items: 20, bytes: 30_000 };

/** Keeps a notice that was not delivered, for who asks how the target is. */
export function noteUndelivered(state: TargetState, undelivered: Undelivered): TargetState {
  return { ...state, undelivered: newest([...(state.undelivered ?? []), undelivered], UNDELIVERED) };
}

/** An undelivered notice in words. */
export function describeUndelivered({ receiver, event, name, at, reason }: Undelivered): string {
  const what = name === null ? event : `${event} of ${name}`;
  return `"${receiver}" could not be told of ${what}, given up at ${at}: ${reason}`;
}
