/** What an activity says with its heartbeats, and hands on to its next attempt. */
export interface Heartbeat {
  /** What it found last, in words: `revision … is DEPLOYING`, or why its last attempt failed. */
  readonly says: string;
  /** Since when that is so: ISO 8601. */
  readonly since: string;
}

/** Reads what Temporal keeps of a heartbeat; `undefined` if it says nothing. */
export function readHeartbeat(details: unknown): Heartbeat | undefined {
  const { says, since } = (details ?? {}) as Partial<Record<keyof Heartbeat, unknown>>;
  return typeof says === 'string' && typeof since === 'string' ? { says, since } : undefined;
}
