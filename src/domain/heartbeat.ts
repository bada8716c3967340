import { isSpent, type Spent } from './check/budget.ts';
import { isRecord, type Instant } from './scalars.ts';

/** The details that an activity sends with its heartbeats, and passes to its next attempt. */
export interface Heartbeat {
  /** What it found last: `revision … is DEPLOYING`, or why its last attempt failed. */
  readonly says: string;
  /** When it found that. */
  readonly since: Instant;
}

/** What the running step found last, and its deadline. */
export interface RunningCall extends Heartbeat {
  /** When the step times out. `null`: it has no deadline. */
  readonly until: Instant | null;
}

/** What Temporal and the control plane report about a release, a rollback or a promotion that runs. */
export interface UnderWay {
  /** What the running step found last. `null`: it has reported nothing. */
  readonly call: RunningCall | null;
  /** While a revision is deployed: the newest lines of its build, oldest first. */
  readonly buildLog: readonly string[];
}

export function readHeartbeat(details: unknown): Heartbeat | undefined {
  const { says, since } = (details ?? {}) as Partial<Record<keyof Heartbeat, unknown>>;
  return typeof says === 'string' && typeof since === 'string' ? { says, since } : undefined;
}

/** What a check had used when it sent a heartbeat; `undefined` if that does not say it. */
export function spentBefore(details: unknown): Spent | undefined {
  const known = isRecord(details) ? details['known'] : undefined;
  const spent = isRecord(known) ? known['spent'] : undefined;
  return isSpent(spent) ? spent : undefined;
}
