import { type ApplicationFailure, Context } from '@temporalio/activity';

import { notYet } from '../../src/activities/activityFailure.ts';
import type { PollUntil } from '../../src/activities/polling.ts';

export const POLL_MS = 20;
const ATTEMPT_MS = 2_000;

export class Gate {
  #isOpen = false;
  readonly #opened: Promise<void>;
  #resolve: () => void = () => undefined;

  constructor() {
    this.#opened = new Promise((resolve) => (this.#resolve = resolve));
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  open(): void {
    this.#isOpen = true;
    this.#resolve();
  }

  /** Resolves once it is open; rejects when the activity is canceled, which only heartbeats can report. */
  async passed(): Promise<void> {
    const context = Context.current();
    while (!this.#isOpen) {
      context.heartbeat();
      await Promise.race([this.#opened, context.sleep(POLL_MS)]);
    }
  }
}

/** Ends a local try without an answer, so that the activity runs through the server. */
export function tryThroughServer(): ApplicationFailure {
  return notYet('SLIPWAY_STEP_TIMED_OUT', 'not within the workflow task', 0);
}

/** Polls with short intervals, with heartbeats, that hand over after a while like the real ones. */
export function polls(beforeLook: () => void = () => undefined): PollUntil {
  return async (code, look) => {
    const context = Context.current();
    const until = Date.now() + ATTEMPT_MS;
    for (;;) {
      beforeLook();
      const seen = await look();
      if ('found' in seen) return seen.found;
      if (context.info.isLocal) throw tryThroughServer();
      context.heartbeat();
      if (Date.now() > until) throw notYet(code, seen.insteadOf, POLL_MS);
      await context.sleep(POLL_MS);
    }
  };
}
