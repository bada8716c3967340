import { type Bound, newest } from '../bounds.ts';
import type { TargetState } from '../targetState.ts';

/** A notice that a receiver could not be told, and why. It changes nothing else: a warning. */
export interface Undelivered {
  /** When it was given up: ISO 8601. */
  readonly at: string;
  /** The receiver's name. */
  readonly receiver: string;
  readonly event: string;
  /** What it was about; `null` for a hold. */
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
