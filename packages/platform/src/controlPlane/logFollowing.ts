import { setTimeout as sleep } from 'node:timers/promises';

import type { Kysely } from 'kysely';

import type { LogStage, RevisionLogLine, RevisionStatusEvent } from '@slipway/contract/controlPlane/logs';
import { encodeEvent, type EventReader } from '../http/serverSentEvents.ts';
import type { Schema } from '../store/schema.ts';
import type { RevisionLogs } from './revisionLogs.ts';
import { isSettled, type RevisionStatus } from './revisionStates.ts';

/** How many lines to read at once. */
const LINES_PER_READ = 500;
/** How often to poll the log while it is idle, in milliseconds. Lines are stored every 200 ms. */
const POLL_INTERVAL_MS = 300;

interface LogSources {
  readonly kysely: Kysely<Schema>;
  readonly logs: RevisionLogs;
}

interface FollowOptions {
  readonly after: string | undefined;
  readonly stage: LogStage | undefined;
}

/** Follows revisions' logs as they grow. */
export class LogFollowing {
  readonly #stored: LogSources;
  readonly #followers = new Set<Follower>();

  constructor(stored: LogSources) {
    this.#stored = stored;
  }

  /**
   * Streams a revision's status, its lines after the id `after` (default: from the first), and further ones, as
   * events `status`, `log` and `end`. `end` comes when no more lines can come: the revision has ended and is not
   * active, or with stage `build`, the build is over. The next lines are read only after the reader has taken the
   * previous ones, so a slow reader costs no memory.
   */
  follow(revisionId: string, following: FollowOptions): EventReader {
    const onClose = (): unknown => this.#followers.delete(follower);
    const follower = new Follower({ ...this.#stored, ...following, revisionId, onClose });
    this.#followers.add(follower);
    return follower;
  }

  /** Ends every stream without an `end` event: readers reconnect and resume. */
  close(): void {
    for (const follower of this.#followers) follower.close();
  }
}

/** A stored line as the API returns it. */
export function revisionLogLine(line: {
  id: string;
  stage: LogStage;
  line: string;
  at: Date;
}): RevisionLogLine {
  return { id: line.id, stage: line.stage, message: line.line, timestamp: line.at.toISOString() };
}

interface FollowerOptions extends LogSources, FollowOptions {
  readonly revisionId: string;
  readonly onClose: () => unknown;
}

class Follower implements EventReader {
  readonly #options: FollowerOptions;
  readonly #abort = new AbortController();
  readonly #frames: Uint8Array[] = [];
  #after: string | undefined;
  #lastText: string | undefined;
  #ended = false;

  constructor(options: FollowerOptions) {
    this.#options = options;
    this.#after = options.after;
  }

  async next(idleMs: number): Promise<Uint8Array | 'idle' | undefined> {
    const { signal } = this.#abort;
    const idleAt = performance.now() + idleMs;
    while (!signal.aborted) {
      const frame = this.#frames.shift();
      if (frame !== undefined) return frame;
      if (this.#ended) break;
      await this.#readNew();
      if (this.#frames.length > 0) continue;
      if (performance.now() >= idleAt) return 'idle';
      await sleep(POLL_INTERVAL_MS, undefined, { signal }).catch(() => undefined);
    }
    this.close();
    return undefined;
  }

  close(): void {
    this.#abort.abort();
    this.#options.onClose();
  }

  /** Reads the status before the lines, so that all lines from before a change of status are included. */
  async #readNew(): Promise<void> {
    const { logs, revisionId, stage } = this.#options;
    const { status, status_message, isComplete } = await this.#state();
    await logs.flush();
    const lines = await logs.read(revisionId, {
      order: 'asc',
      limit: LINES_PER_READ,
      after: this.#after,
      stage,
    });
    const text = JSON.stringify({ status, status_message } satisfies RevisionStatusEvent);
    if (text !== this.#lastText) this.#frames.push(encodeEvent('status', text));
    this.#lastText = text;
    for (const line of lines) {
      this.#frames.push(encodeEvent('log', JSON.stringify(revisionLogLine(line)), line.id));
    }
    this.#after = lines.at(-1)?.id ?? this.#after;
    this.#ended = isComplete && lines.length < LINES_PER_READ;
    if (this.#ended) this.#frames.push(encodeEvent('end', text));
  }

  async #state(): Promise<RevisionStatusEvent & { isComplete: boolean }> {
    const { kysely, revisionId, stage } = this.#options;
    const row = await kysely
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
