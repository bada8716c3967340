const ROUNDS = 10;
const SHORTEST_PAUSE_MS = 10_000;

/** How long a release that soaks waits between two rounds of its checks, in milliseconds. */
export function soakPauseMs(soakMs: number): number {
  return Math.max(soakMs / ROUNDS, SHORTEST_PAUSE_MS);
}
