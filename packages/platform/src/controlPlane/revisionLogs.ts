import { setTimeout as sleep } from 'node:timers/promises';

import { type Kysely, sql } from 'kysely';
import type { Logger } from 'pino';
import type { LogStage, RevisionLogLine, RevisionStatusEvent } from '@slipway/contract/controlPlane/logs';

import { encodeEvent, type EventReader, readGenerated } from '../http/serverSentEvents.ts';
import type { Schema } from '../store/schema.ts';
import { isSettled, type RevisionStatus } from './revisionStates.ts';

/** How many of the newest lines to keep per revision and stage. */
const LINES_KEPT = 10_000;
/** The length at which a line is cut, in characters. */
const LINE_MAX = 8_192;
const FLUSH_AFTER_MS = 200;
const FLUSH_AFTER_LINES = 200;
/** How many lines may wait for the database. Beyond that the oldest are dropped, and their number is logged. */
const WAITING_MAX = 5_000;

interface WaitingLine {
  readonly revisionId: string;
  readonly stage: LogStage;
  readonly line: string;
  readonly at: Date;
}

export interface LogPage {
  /** Oldest first (`asc`) or newest first. */
  readonly order: 'asc' | 'desc';
  readonly limit: number;
  /** The `id` of the previous page's last line. */
  readonly after: string | undefined;
  readonly stage?: LogStage;
  /** A text that the line contains, case-insensitive. */
  readonly contains?: string;
  /** The time range, both ends inclusive. */
  readonly from?: Date;
  readonly until?: Date;
}

/** Stores the output of builds and agents, per revision. */
export type RevisionLogs = ReturnType<typeof createRevisionLogs>;

/** Stores logs in the table `revision_logs`, in batches. */
export function createRevisionLogs(kysely: Kysely<Schema>, log: Logger) {
  let waiting: WaitingLine[] = [];
  let dropped = 0;
  let timer: NodeJS.Timeout | undefined;
  let writing: Promise<void> = Promise.resolve();
  const written = new Map<string, number>();

  const add = (line: WaitingLine): void => {
    if (waiting.length >= WAITING_MAX) {
      waiting.shift();
      dropped += 1;
    }
    waiting.push(line);
    if (waiting.length >= FLUSH_AFTER_LINES) void flush();
    else timer ??= setTimeout(() => void flush(), FLUSH_AFTER_MS);
  };

  const flush = (): Promise<void> => {
    clearTimeout(timer);
    timer = undefined;
    writing = writing.then(write);
    return writing;
  };

  const write = async (): Promise<void> => {
    const lines = waiting;
    waiting = [];
    const lost = dropped;
    dropped = 0;
    if (lost > 0) log.warn({ lost }, 'lines of revisions were written faster than they could be stored');
    try {
      for (let start = 0; start < lines.length; start += FLUSH_AFTER_LINES) {
        await store(kysely, lines.slice(start, start + FLUSH_AFTER_LINES));
      }
      for (const key of countWritten(written, lines)) await trim(kysely, key);
    } catch (error) {
      // A log that cannot be stored must not stop its build.
      log.error({ err: error, lines: lines.length }, 'lines of revisions could not be stored');
    }
  };

  return {
    /** A sink for lines; it never fails and never blocks. */
    sink: (revisionId: string, stage: LogStage) => (line: string) => {
      add({ revisionId, stage, line: printable(line), at: new Date() });
    },
    /** Resolves when every line so far is stored or has failed. */
    flush,
    /** A page of one revision's lines, or of all revisions of a deployment. */
    read: async (
      of: string | { readonly deploymentId: string },
      { order, limit, after, stage, contains, from, until }: LogPage,
    ) => {
      let query = kysely
        .selectFrom('revision_logs')
        .select(['id', 'stage', 'line', 'at'])
        .orderBy('id', order)
        .limit(limit);
      if (typeof of === 'string') query = query.where('revision_id', '=', of);
      else {
        query = query.where('revision_id', 'in', (inner) =>
          inner.selectFrom('revisions').select('id').where('deployment_id', '=', of.deploymentId),
        );
      }
      if (after !== undefined) query = query.where('id', order === 'asc' ? '>' : '<', after);
      if (stage !== undefined) query = query.where('stage', '=', stage);
      if (contains !== undefined) {
        query = query.where(sql<boolean>`strpos(lower(line), lower(${contains})) > 0`);
      }
      if (from !== undefined) query = query.where('at', '>=', from);
      if (until !== undefined) query = query.where('at', '<=', until);
      return query.execute();
    },
  };
}

/** Makes a line storable: Postgres accepts neither U+0000 nor lone surrogates. */
function printable(line: string): string {
  const cut = line.length > LINE_MAX ? `${line.slice(0, LINE_MAX)}…` : line;
  // A round trip through UTF-8 replaces lone surrogates.
  return Buffer.from(cut).toString().replaceAll('\0', '\uFFFD');
}

async function store(kysely: Kysely<Schema>, lines: readonly WaitingLine[]): Promise<void> {
  const values = lines.map(
    (line, index) =>
      sql`(${index}::int, ${line.revisionId}::uuid, ${line.stage}, ${line.line}, ${line.at}::timestamptz)`,
  );
  // Lines of a revision that was deleted meanwhile are left out, because their foreign key would fail the whole
  // batch. `order by` is needed: a join keeps no order, and the ids assigned here are the order of reading.
  await sql`insert into revision_logs (revision_id, stage, line, at)
    select v.revision_id, v.stage, v.line, v.at
    from (values ${sql.join(values)}) as v (place, revision_id, stage, line, at)
    where exists (select 1 from revisions where revisions.id = v.revision_id)
    order by v.place`.execute(kysely);
}

/** Counts the written lines, and returns the logs that have grown enough to be trimmed. */
function countWritten(
  written: Map<string, number>,
  lines: readonly WaitingLine[],
): { revisionId: string; stage: LogStage }[] {
  const due = new Map<string, { revisionId: string; stage: LogStage }>();
  for (const { revisionId, stage } of lines) {
    const key = `${revisionId}/${stage}`;
    const count = (written.get(key) ?? 0) + 1;
    written.set(key, count);
    if (count % (LINES_KEPT / 10) === 0) due.set(key, { revisionId, stage });
  }
  return [...due.values()];
}

async function trim(kysely: Kysely<Schema>, log: { revisionId: string; stage: LogStage }): Promise<void> {
  const oldestKept = await kysely
    .selectFrom('revision_logs')
    .select('id')
    .where('revision_id', '=', log.revisionId)
    .where('stage', '=', log.stage)
    .orderBy('id', 'desc')
    .offset(LINES_KEPT)
    .limit(1)
    .executeTakeFirst();
  if (oldestKept === undefined) return;
  await kysely
    .deleteFrom('revision_logs')
    .where('revision_id', '=', log.revisionId)
    .where('stage', '=', log.stage)
    .where('id', '<=', oldestKept.id)
    .execute();
}

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
      if (lines.length === 0) await sleep(POLL_INTERVAL_MS, undefined, { signal }).catch(() => undefined);
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

/** A stored line as the API returns it. */
export function revisionLogLine(line: {
  id: string;
  stage: LogStage;
  line: string;
  at: Date;
}): RevisionLogLine {
  return { id: line.id, stage: line.stage, message: line.line, timestamp: line.at.toISOString() };
}
