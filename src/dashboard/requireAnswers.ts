import type { MiddlewareHandler } from 'hono';

import { callTemporal, type TemporalConnection } from '../temporal/client/connection.ts';

/** How long a page is read before the dashboard asks whether Temporal answers at all, in milliseconds. */
const SLOW_MS = 3_000;
const ANSWERS_WITHIN_MS = 2_000;

/**
 * Ends the wait for a page if Temporal does not answer. Its parts may wait for longer: they also read on a busy Temporal.
 * @throws SlipwayError SLIPWAY_TEMPORAL_UNREACHABLE.
 */
export function requireAnswers(temporal: TemporalConnection): MiddlewareHandler {
  return async (c, next) => {
    // A form's message has its own deadlines, and says whether it may still arrive.
    if (c.req.method !== 'GET') return next();
    let timer: NodeJS.Timeout | undefined;
    const isSlow = new Promise<void>((resolve) => (timer = setTimeout(resolve, SLOW_MS)));
    const page = next().finally(() => clearTimeout(timer));
    const ask = () => temporal.client.connection.workflowService.getSystemInfo({});
    const answers = isSlow.then(() => callTemporal(temporal, ask, ANSWERS_WITHIN_MS));
    await Promise.race([page, answers.then(() => page)]);
  };
}
