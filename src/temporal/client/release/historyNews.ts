import pLimit from 'p-limit';

import type { TemporalConnection } from '../connection.ts';
import { pause } from '../pause.ts';

/** The first call of each reader returns the whole history. Many of them at once would delay everything else. */
const wholeHistories = pLimit(2);

/** How long a wait takes at least whose call failed, in milliseconds. */
const FAILED_PAUSE_MS = 1_000;

/** The new events of a workflow's history. The server holds the call until there are some; no worker is needed. */
export class HistoryNews {
  readonly workflowId: string;
  readonly #temporal: TemporalConnection;
  readonly #spacingMs: number;
  /** The position up to which the history was read. */
  #token: Uint8Array | undefined;

  /** @param spacingMs - the shortest wait, in milliseconds, unless the workflow has ended. */
  constructor(temporal: TemporalConnection, workflowId: string, spacingMs: number) {
    this.#temporal = temporal;
    this.workflowId = workflowId;
    this.#spacingMs = spacingMs;
  }

  /** Waits for events, but at least for the spacing, unless the workflow has ended. */
  async wait(atMostMs: number, signal: AbortSignal | undefined): Promise<void> {
    const earliest = Date.now() + Math.min(this.#spacingMs, atMostMs);
    let until = Date.now() + atMostMs;
    while (Date.now() < until && signal?.aborted !== true) {
      const isOpen = await this.#next(until, signal);
      if (!isOpen) return;
      until = Math.min(until, Math.max(earliest, Date.now()));
    }
  }

  /** Waits for the next events, or until then. @returns whether more may follow. */
  async #next(until: number, signal: AbortSignal | undefined): Promise<boolean> {
    const { client, settings } = this.#temporal;
    const request = {
      namespace: settings.namespace,
      execution: { workflowId: this.workflowId },
      waitNewEvent: true,
      nextPageToken: this.#token ?? null,
    };
    const read = (): Promise<{ nextPageToken?: Uint8Array | null }> =>
      client.workflowService.getWorkflowExecutionHistory(request);
    try {
      const call = () =>
        client.withDeadline(until, () =>
          // Each call gets its own signal, because the SDK never removes its listener.
          signal === undefined ? read() : client.withAbortSignal(AbortSignal.any([signal]), read),
        );
      const { nextPageToken } = await (this.#token === undefined ? wholeHistories(call) : call());
      this.#token = nextPageToken ?? undefined;
      return nextPageToken != null && nextPageToken.length > 0;
    } catch {
      // The caller's next query finds out why.
      const leftMs = until - Date.now();
      if (leftMs > 0) await pause(Math.min(leftMs, FAILED_PAUSE_MS), signal);
      return false;
    }
  }
}
