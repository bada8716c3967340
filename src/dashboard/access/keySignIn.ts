import type { HttpBindings } from '@hono/node-server';
import type { createClientAddress } from '@slipway/contract/clientAddress';
import { sameSecret } from '@slipway/contract/sameSecret';
import type { Context } from 'hono';

import { AccessRefusal, failed } from './accessRefusal.ts';
import { formFields, type Viewer } from './session.ts';

const MOST_WRONG = 10;
const WINDOW_MS = 10 * 60_000;

/** A name that releases can record: one line, no control characters. */
const NAME = /^[^\p{C}\p{Zl}\p{Zp}]{1,200}$/u;

/**
 * Makes the function that signs people in with the shared key. They enter their name, which is not proved. It throws
 * AccessRefusal SLIPWAY_SIGN_IN_FAILED (403) for a wrong key or an unusable name; SLIPWAY_SIGN_IN_LIMITED (429) after
 * too many wrong keys.
 * @param clientAddress - finds the address that wrong keys are counted for.
 */
export function keySignIn(
  key: string,
  clientAddress: ReturnType<typeof createClientAddress>,
): (c: Context) => Promise<Viewer> {
  const attempts = new Attempts();
  return async (c) => {
    const { name: given = '', key: sent = '' } = await formFields(c);
    const name = given.trim();
    const client = clientAddress((c.env as HttpBindings).incoming) ?? 'unknown';
    const waitMs = attempts.waitMs(client);
    if (waitMs > 0) {
      const seconds = Math.ceil(waitMs / 1_000);
      const what = `there were ${MOST_WRONG} wrong keys from your address`;
      const hint = `try again in ${Math.ceil(seconds / 60)} min`;
      throw new AccessRefusal(429, 'SLIPWAY_SIGN_IN_LIMITED', what, { hint, retryAfterSeconds: seconds });
    }
    if (!sameSecret(sent.trim(), key)) {
      attempts.fail(client);
      const hint = 'ask the person who runs this page for the value of SLIPWAY_DASHBOARD_KEY';
      throw failed('the key is not the one of this page', hint);
    }
    if (!NAME.test(name)) {
      throw failed('the name is missing, or longer than one line', 'say who you are: releases record it');
    }
    return { name, proved: false, role: 'release' };
  };
}

/** How many clients are remembered. Beyond that, the client with the oldest window is forgotten. */
const MOST_CLIENTS = 10_000;

/** Limits each client's wrong attempts within a time window. Processes do not share it. */
export class Attempts {
  /** In the order in which the windows began. */
  readonly #failed = new Map<string, { count: number; readonly since: number }>();

  waitMs(client: string): number {
    const failed = this.#failed.get(client);
    if (failed === undefined || failed.count < MOST_WRONG) return 0;
    return Math.max(failed.since + WINDOW_MS - performance.now(), 0);
  }

  fail(client: string): void {
    const now = performance.now();
    const failed = this.#failed.get(client);
    if (failed !== undefined && now < failed.since + WINDOW_MS) {
      failed.count += 1;
      return;
    }
    this.#failed.delete(client);
    this.#failed.set(client, { count: 1, since: now });
    const [oldest] = this.#failed.keys();
    if (this.#failed.size > MOST_CLIENTS && oldest !== undefined) this.#failed.delete(oldest);
  }
}
