/**
 * How long an agent that is switched away from may go on with its runs where its deployment says nothing
 * (`SLIPWAY_AGENT_DRAIN_MS`), in milliseconds.
 */
export const DRAIN_MS = 30_000;

/** How long an agent has for handing over what is left then, and for ending, before it is killed, in milliseconds. */
export const HAND_OVER_MS = 8_000;
