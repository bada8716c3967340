/** How long a release relies on the poller of its control plane before it looks by itself, in milliseconds. */
export const LOOK_AGAIN_MS = 10 * 60_000;

/** How long one attempt of a poller lasts, in milliseconds. Then its workflow puts together what still waits. */
export const POLL_ATTEMPT_MS = 5 * 60_000;
