import { type Kysely, sql } from 'kysely';
import type { Logger } from 'pino';
import type { LogStage, RevisionLogLine } from '@slipway/contract/controlPlane/logs';

import type { Schema } from '../store/schema.ts';

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

/** Stores the output of builds and agents per revision, in the table `revision_logs`, in batches. */
export class RevisionLogs {
  readonly #kysely: Kysely<Schema>;
  readonly #log: Logger;
  #waiting: WaitingLine[] = [];
  #dropped = 0;
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();
  readonly #written = new Map<string, number>();

  constructor(kysely: Kysely<Schema>, log: Logger) {
    this.#kysely = kysely;
    this.#log = log;
  }

  /** A sink for lines; it never fails and never blocks. */
  sink(revisionId: string, stage: LogStage): (line: string) => void {
    return (line) => this.#add({ revisionId, stage, line: printable(line), at: new Date() });
  }

  /** Resolves when every line so far is stored or has failed. */
  flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#writing = this.#writing.then(() => this.#write());
    return this.#writing;
  }

  /** A page of one revision's lines, or of all revisions of a deployment. */
  read(
    of: string | { readonly deploymentId: string },
    { order, limit, after, stage, contains, from, until }: LogPage,
  ) {
    let query = this.#kysely
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
  }

  #add(line: WaitingLine): void {
    if (this.#waiting.length >= WAITING_MAX) {
      this.#waiting.shift();
      this.#dropped += 1;
    }
    this.#waiting.push(line);
    if (this.#waiting.length >= FLUSH_AFTER_LINES) void this.flush();
    else this.#timer ??= setTimeout(() => void this.flush(), FLUSH_AFTER_MS);
  }

  async #write(): Promise<void> {
    const lines = this.#waiting;
    this.#waiting = [];
    const lost = this.#dropped;
    this.#dropped = 0;
    if (lost > 0) {
      this.#log.warn({ lost }, 'lines of revisions were written faster than they could be stored');
    }
    try {
      for (let start = 0; start < lines.length; start += FLUSH_AFTER_LINES) {
        await store(this.#kysely, lines.slice(start, start + FLUSH_AFTER_LINES));
      }
      for (const key of countWritten(this.#written, lines)) await trim(this.#kysely, key);
    } catch (error) {
      // A log that cannot be stored must not stop its build.
      this.#log.error({ err: error, lines: lines.length }, 'lines of revisions could not be stored');
    }
  }
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

/** A stored line as the API returns it. */
export function revisionLogLine(line: {
  id: string;
  stage: LogStage;
  line: string;
  at: Date;
}): RevisionLogLine {
  return { id: line.id, stage: line.stage, message: line.line, timestamp: line.at.toISOString() };
}
