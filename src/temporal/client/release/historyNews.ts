import protos from '@temporalio/proto';
import pLimit from 'p-limit';

import type { TemporalConnection } from '../connection.ts';
import { pause } from '../pause.ts';

/** The first call of each reader returns the whole history. Many of them at once would delay everything else. */
const wholeHistories = pLimit(2);

const { HistoryEventFilterType } = protos.temporal.api.enums.v1;
/** Only the workflow's last event. */
const CLOSE_EVENT = { historyEventFilterType: HistoryEventFilterType.HISTORY_EVENT_FILTER_TYPE_CLOSE_EVENT };

/** Temporal answers a read that waits this long before the call's deadline, in milliseconds. */
const ANSWERS_EARLY_MS = 1_000;

/** How long a wait takes at least whose call failed, in milliseconds. */
const FAILED_PAUSE_MS = 1_000;

/** The new events of a workflow's history. The server holds the call until there are some; no worker is needed. */
export class HistoryNews {
  readonly workflowId: string;
  readonly #temporal: TemporalConnection;
  readonly #spacingMs: number;
  #token: Uint8Array | undefined;

  /** @param spacingMs - the shortest wait, in milliseconds, unless the workflow has ended. */
  constructor(temporal: TemporalConnection, workflowId: string, spacingMs: number) {
    this.#temporal = temporal;
    this.workflowId = workflowId;
    this.#spacingMs = spacingMs;
  }

  /** Waits for events, but at least for the spacing, unless the workflow has ended. @returns whether it has. */
  async wait(atMostMs: number, signal: AbortSignal | undefined): Promise<boolean> {
    const until = Date.now() + atMostMs;
    const earliest = Math.min(Date.now() + this.#spacingMs, until);
    // A release has an event every few milliseconds. Only the last one matters before the spacing is over.
    const last = await this.#read(CLOSE_EVENT, earliest, signal);
    if (last === null || signal?.aborted === true || Date.now() >= until) return last === null;
    const next = await this.#read({ nextPageToken: this.#token ?? null }, until, signal);
    this.#token = next ?? undefined;
    return next === null;
  }

  /** Waits for events, or until then. @returns the position after them; `null` after the workflow's last; else `undefined`. */
  async #read(
    what: Partial<typeof CLOSE_EVENT> & { readonly nextPageToken?: Uint8Array | null },
    until: number,
    signal: AbortSignal | undefined,
  ): Promise<Uint8Array | null | undefined> {
    const { client, settings } = this.#temporal;
    const { namespace } = settings;
    const request = { namespace, execution: { workflowId: this.workflowId }, waitNewEvent: true, ...what };
    const read = () => client.workflowService.getWorkflowExecutionHistory(request);
    const call = () =>
      client.withDeadline(until + ANSWERS_EARLY_MS, () =>
        // Each call gets its own signal, because the SDK never removes its listener.
        signal === undefined ? read() : client.withAbortSignal(AbortSignal.any([signal]), read),
      );
    try {
      const { nextPageToken } = await (what.nextPageToken === null ? wholeHistories(call) : call());
      return nextPageToken.length > 0 ? nextPageToken : null;
    } catch {
      // The caller's next query finds out why.
      const leftMs = until - Date.now();
      if (leftMs > 0) await pause(Math.min(leftMs, FAILED_PAUSE_MS), signal);
      return undefined;
    }
  }
}
