import type { LogStage, RevisionStatusEvent } from '@slipway/contract/controlPlane/logs';
import type { Kysely } from 'kysely';

import { encodeEvent, type EventReader, readGenerated } from '../http/serverSentEvents.ts';
import { pause } from '../pause.ts';
import type { Schema } from '../store/schema.ts';
import { revisionLogLine, type RevisionLogs } from './revisionLogs.ts';
import { isSettled, type RevisionStatus } from './revisionStates.ts';

const LINES_PER_READ = 500;
/** How often to poll the log while it is idle, in milliseconds. Lines are stored every 200 ms. */
const POLL_INTERVAL_MS = 300;

interface FollowOptions {
  readonly after: string | undefined;
  readonly stage: LogStage | undefined;
  /** Whether the reader may still read: its key may have been revoked, or have expired. */
  readonly isAllowed: () => Promise<boolean>;
}

/** Follows revisions' logs as they grow. */
export class LogFollowing {
  readonly #kysely: Kysely<Schema>;
  readonly #logs: RevisionLogs;
  #isClosed = false;

  constructor({ kysely, logs }: { kysely: Kysely<Schema>; logs: RevisionLogs }) {
    this.#kysely = kysely;
    this.#logs = logs;
  }

  /**
   * Streams a revision's status, its lines after the id `after` (default: from the first), and further ones, as
   * events `status`, `log` and `end`. `end` comes when no more lines can come: the revision has ended and is not
   * active, or with stage `build`, the build is over. Without `end`, the stream ends once `isAllowed` is false. The next
   * lines are read only after the reader has taken the previous ones, so a slow reader costs no memory.
   */
  follow(revisionId: string, options: FollowOptions): EventReader {
    return readGenerated((signal) => this.#read(revisionId, options, signal));
  }

  /** Ends every stream without an `end` event: readers reconnect and resume. */
  close(): void {
    this.#isClosed = true;
  }

  async *#read(
    revisionId: string,
    { after, stage, isAllowed }: FollowOptions,
    signal: AbortSignal,
  ): AsyncGenerator<Uint8Array, void> {
    let lastId = after;
    let lastText: string | undefined;
    while (!signal.aborted && !this.#isClosed && (await isAllowed())) {
      // The status before the lines, so that all lines from before a change of status are included.
      const { status, status_message, isComplete } = await this.#state(revisionId, stage);
      await this.#logs.flush();
      const page = { order: 'asc', limit: LINES_PER_READ, after: lastId, stage } as const;
      const lines = await this.#logs.read(revisionId, page);
      const text = JSON.stringify({ status, status_message } satisfies RevisionStatusEvent);
      if (text !== lastText) yield encodeEvent('status', text);
      lastText = text;
      for (const line of lines) {
        lastId = line.id;
        yield encodeEvent('log', JSON.stringify(revisionLogLine(line)), line.id);
      }
      if (isComplete && lines.length < LINES_PER_READ) {
        yield encodeEvent('end', text);
        return;
      }
      if (lines.length === 0) await pause(POLL_INTERVAL_MS, signal);
    }
  }

  async #state(
    revisionId: string,
    stage: LogStage | undefined,
  ): Promise<RevisionStatusEvent & { isComplete: boolean }> {
    const row = await this.#kysely
      .selectFrom('revisions')
      .innerJoin('deployments', 'deployments.id', 'revisions.deployment_id')
      .select(['revisions.status', 'revisions.status_reason', 'deployments.active_revision_id'])
      .where('revisions.id', '=', revisionId)
      .executeTakeFirst();
    if (row === undefined) {
      return { status: 'UNKNOWN', status_message: 'The deployment was deleted.', isComplete: true };
    }
    const isComplete =
      stage === 'build'
        ? !UNBUILT_STATUSES.has(row.status)
        : isSettled(row.status) && row.active_revision_id !== revisionId;
    return { status: row.status, status_message: row.status_reason, isComplete };
  }
}

const UNBUILT_STATUSES: ReadonlySet<RevisionStatus> = new Set([
  'CREATING',
  'QUEUED',
  'AWAITING_BUILD',
  'BUILDING',
]);
