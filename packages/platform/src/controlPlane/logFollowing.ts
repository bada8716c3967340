import { setTimeout as sleep } from 'node:timers/promises';

import type { Kysely } from 'kysely';

import type { LogStage, RevisionLogLine, RevisionStatusEvent } from '@slipway/contract/controlPlane/logs';
import { encodeEvent, type EventReader } from '../http/serverSentEvents.ts';
import type { Schema } from '../store/schema.ts';
import type { RevisionLogs } from './revisionLogs.ts';
import { isSettled, type RevisionStatus } from './revisionStates.ts';

/** How many lines to read at once. */
const LINES_AT_ONCE = 500;
/** How often to poll the log while it is idle, in milliseconds. Lines are stored every 200 ms. */
const LOOK_EVERY_MS = 300;

interface Stored {
  readonly kysely: Kysely<Schema>;
  readonly logs: RevisionLogs;
}

interface Following {
  readonly after: string | undefined;
  readonly stage: LogStage | undefined;
}

/** Follows revisions' logs as they grow. */
export class LogFollowing {
  readonly #stored: Stored;
  readonly #followers = new Set<Follower>();

  constructor(stored: Stored) {
    this.#stored = stored;
  }

  /**
   * Streams a revision's status, its lines after the id `after` (default: from the first), and further ones, as
   * events `status`, `log` and `end`. `end` comes when no more lines can come: the revision has ended and is not
   * active, or with stage `build`, the build is over. The next lines are read only after the reader has taken the
   * previous ones, so a slow reader costs no memory.
   */
  follow(revisionId: string, following: Following): EventReader {
    const onLeave = (): unknown => this.#followers.delete(follower);
    const follower = new Follower({ ...this.#stored, ...following, revisionId, onLeave });
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

interface FollowerOptions extends Stored, Following {
  readonly revisionId: string;
  readonly onLeave: () => unknown;
}

class Follower implements EventReader {
  readonly #options: FollowerOptions;
  readonly #left = new AbortController();
  readonly #frames: Uint8Array[] = [];
  #after: string | undefined;
  #lastText: string | undefined;
  #ended = false;

  constructor(options: FollowerOptions) {
    this.#options = options;
    this.#after = options.after;
  }

  async next(idleMs: number): Promise<Uint8Array | 'idle' | undefined> {
    const { signal } = this.#left;
    const idleAt = performance.now() + idleMs;
    while (!signal.aborted) {
      const frame = this.#frames.shift();
      if (frame !== undefined) return frame;
      if (this.#ended) break;
      await this.#look();
      if (this.#frames.length > 0) continue;
      if (performance.now() >= idleAt) return 'idle';
      await sleep(LOOK_EVERY_MS, undefined, { signal }).catch(() => undefined);
    }
    this.close();
    return undefined;
  }

  close(): void {
    this.#left.abort();
    this.#options.onLeave();
  }

  /** Reads the status before the lines, so that all lines from before a change of status are included. */
  async #look(): Promise<void> {
    const { logs, revisionId, stage } = this.#options;
    const { status, status_message, over } = await this.#state();
    await logs.flush();
    const lines = await logs.read(revisionId, {
      order: 'asc',
      limit: LINES_AT_ONCE,
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
    this.#ended = over && lines.length < LINES_AT_ONCE;
    if (this.#ended) this.#frames.push(encodeEvent('end', text));
  }

  async #state(): Promise<RevisionStatusEvent & { over: boolean }> {
    const { kysely, revisionId, stage } = this.#options;
    const row = await kysely
      .selectFrom('revisions')
      .innerJoin('deployments', 'deployments.id', 'revisions.deployment_id')
      .select(['revisions.status', 'revisions.status_reason', 'deployments.active_revision_id'])
      .where('revisions.id', '=', revisionId)
      .executeTakeFirst();
    if (row === undefined) {
      return { status: 'UNKNOWN', status_message: 'The deployment was deleted.', over: true };
    }
    const over =
      stage === 'build'
        ? !BEFORE_THE_BUILD_ENDS.has(row.status)
        : isSettled(row.status) && row.active_revision_id !== revisionId;
    return { status: row.status, status_message: row.status_reason, over };
  }
}

const BEFORE_THE_BUILD_ENDS: ReadonlySet<RevisionStatus> = new Set([
  'CREATING',
  'QUEUED',
  'AWAITING_BUILD',
  'BUILDING',
]);
