/** How long a replaced agent may continue its runs, in milliseconds. Default of `SLIPWAY_AGENT_DRAIN_MS`. */
export const DRAIN_MS = 30_000;

/** How long an agent then has to hand over its runs and end before it is killed, in milliseconds. */
export const HAND_OVER_MS = 8_000;
