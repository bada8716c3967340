import { setTimeout as delay } from 'node:timers/promises';

import { type Logger } from 'pino';

import { wireRun } from '../http/wire.ts';
import { type LiveRun, type RunEnding } from './liveRun.ts';

/** How long one delivery may take, in milliseconds. */
const DELIVERY_TIMEOUT_MS = 10_000;

/** How long to wait before each further try, in milliseconds. */
const RETRY_AFTER_MS = [500, 5_000];

/**
 * Tells the run's `webhook` that the run has ended: a POST of the run with its `values`, and `error` where it failed
 * (contract 001: delivery "not shown"; this is what the public servers send). Tried three times; a failure is logged
 * and changes nothing else. At most once per try and not remembered: who must know asks the run.
 */
export async function deliverWebhook(
  url: string,
  live: LiveRun,
  ending: RunEnding,
  log: Logger,
): Promise<void> {
  const { kwargs: _kwargs, ...run } = wireRun(live.record);
  const { status, failure } = ending;
  const told = JSON.stringify({ ...run, status, ...(failure !== undefined && { error: failure }) });
  const body = `${told.slice(0, -1)},"values":${ending.values}}`;
  for (let attempt = 0; ; attempt++) {
    const problem = await post(url, body);
    if (problem === undefined) return;
    const wait = RETRY_AFTER_MS[attempt];
    // The path of a webhook is often its secret.
    if (wait === undefined) {
      log.warn({ runId: live.runId, host: new URL(url).host, problem }, 'a webhook could not be delivered');
      return;
    }
    await delay(wait, undefined, { ref: false });
  }
}

/** Answers what went wrong, if anything did. */
async function post(url: string, body: string): Promise<string | undefined> {
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
      signal: AbortSignal.timeout(DELIVERY_TIMEOUT_MS),
    });
    await response.body?.cancel();
    return response.ok ? undefined : `it answered ${response.status}`;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
