import { LOOK_AGAIN_MS, POLL_ATTEMPT_MS } from '../deployment/revision.ts';
import { HOUR_MS } from '../duration.ts';
import { STEPS } from '../stepTable.ts';

/** The SDK passes a heartbeat on to the server after 80 % of its timeout, and at least once a minute. */
export function heartbeatEveryMs(timeoutMs: number): number {
  return Math.min(timeoutMs * 0.8, 60_000);
}

/** What waiting costs, in actions of Temporal Cloud. Heartbeats are among them. */
export interface WaitingCost {
  /** An hour of one release that waits for its revision: it polls by itself, an attempt and a heartbeat each time. */
  readonly parkedHour: number;
  /** An hour of one of a control plane's pollers, which the releases that wait there share. */
  readonly pollerHour: number;
  /** A day of a soak or a bake: an attempt and a heartbeat in each round of its checks. */
  readonly soakedDay: number;
}

/** @param checkEveryMs - from one round of a soak to the next. */
export function waitingCost(checkEveryMs: number): WaitingCost {
  const heartbeats = Math.ceil(HOUR_MS / heartbeatEveryMs(STEPS.deployed.heartbeatMs ?? HOUR_MS));
  return {
    parkedHour: 2 * Math.ceil(HOUR_MS / LOOK_AGAIN_MS),
    pollerHour: heartbeats + Math.ceil(HOUR_MS / POLL_ATTEMPT_MS),
    soakedDay: 2 * Math.ceil((24 * HOUR_MS) / checkEveryMs),
  };
}
