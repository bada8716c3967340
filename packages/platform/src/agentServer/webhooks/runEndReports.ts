import type { Logger } from 'pino';

import { wireRun } from '../http/wire.ts';
import { recordedEnding, type RunEnding } from '../runs/liveRun.ts';
import { type RunRecord, webhookOf } from '../store/agentDatabase.ts';
import type { PendingWebhooks } from '../store/pendingWebhooks.ts';
import type { Webhooks } from './webhooks.ts';

interface RunEndReportsParts {
  readonly webhooks: Webhooks;
  readonly pendingWebhooks: PendingWebhooks;
  readonly log: Logger;
}

/**
 * Reports the ends of runs to their webhooks, at least once: what a receiver does not accept, a process of the
 * deployment claims and sends again.
 */
export class RunEndReports {
  readonly #parts: RunEndReportsParts;

  constructor(parts: RunEndReportsParts) {
    this.#parts = parts;
  }

  /** Reports a run's end, if it has a webhook. Never throws. */
  async send(record: RunRecord, ending: RunEnding): Promise<void> {
    const url = webhookOf(record);
    if (url === undefined) return;
    const { webhooks, pendingWebhooks, log } = this.#parts;
    const runId = record.run_id;
    try {
      if (await webhooks.deliver(url, bodyOf(record, ending), runId)) await pendingWebhooks.settle(record);
    } catch (error) {
      log.warn({ err: error, runId }, 'the delivery of a webhook could not be stored: it is sent again');
    }
  }

  /** Sends the reports that are due. Resolves when they are claimed. */
  async sendDue(): Promise<void> {
    for (const run of await this.#parts.pendingWebhooks.claim()) void this.send(run, recordedEnding(run));
  }
}

/** JSON text: the body of a run's webhook: the ended run without its `kwargs`, with its values. */
function bodyOf(record: RunRecord, ending: RunEnding): string {
  const { kwargs: _kwargs, ...run } = wireRun(record);
  const { status, failure } = ending;
  const answer = JSON.stringify({ ...run, status, ...(failure !== undefined && { error: failure }) });
  // The values are already JSON.
  return `${answer.slice(0, -1)},"values":${ending.values}}`;
}
