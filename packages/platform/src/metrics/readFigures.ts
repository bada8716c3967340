import { type Kysely, sql } from 'kysely';

import type { ControlPlane } from '../controlPlane/controlPlane.ts';
import { UNSETTLED_STATUSES } from '../controlPlane/revisionStates.ts';
import { tableExists } from '../store/migrate.ts';
import type { Schema } from '../store/schema.ts';
import type { Reading, RecordTime } from './metrics.ts';

const ACTIVE_RUNS = ['pending', 'running'];
/** The most ended runs that one scrape counts. */
const ENDED_MAX = 100_000;

/**
 * Reads the gauges from the database and the fleet on a scrape. Ended runs are counted from the first scrape on, 2 s
 * after their end, when the transaction that wrote it has committed.
 */
export function createGaugeReader(options: {
  readonly kysely: Kysely<Schema>;
  readonly record: RecordTime;
  readonly controlPlane: Pick<ControlPlane, 'agents' | 'buildQueue'>;
}): () => Promise<readonly Reading[]> {
  const { kysely, record, controlPlane } = options;
  /** Until when ended runs have been counted, by the database's clock. */
  let countedUntil: string | undefined;

  const countEndedRuns = async (): Promise<void> => {
    const { rows: clock } = await sql<{ until: string }>`
      select (now() - interval '2 seconds')::text as until`.execute(kysely);
    const until = clock[0]?.until;
    // Runs that ended before the platform started are not counted.
    if (countedUntil !== undefined && until !== undefined) {
      const { rows } = await sql<{ status: string; seconds: number }>`
        select status, extract(epoch from updated_at - created_at)::float8 as seconds from slipway_agent.runs
        where updated_at > ${countedUntil}::timestamptz and updated_at <= ${until}::timestamptz
          and status <> all (${ACTIVE_RUNS})
        limit ${ENDED_MAX}`.execute(kysely);
      for (const { status, seconds } of rows)
        record('slipway_platform_run_duration_seconds', Math.max(seconds, 0), { status });
    }
    countedUntil = until;
  };

  const readRuns = async (): Promise<readonly Reading[]> => {
    const none = ACTIVE_RUNS.map((status): [string, number] => [status, 0]);
    const counts = new Map<string, number>(none);
    // The first agent creates the table.
    if (await tableExists(kysely, 'slipway_agent.runs')) {
      await countEndedRuns();
      const { rows } = await sql<{ status: string; count: string }>`
        select status, count(*) as count from slipway_agent.runs where status = any (${ACTIVE_RUNS})
        group by status`.execute(kysely);
      for (const { status, count } of rows) counts.set(status, Number(count));
    } else countedUntil ??= '-infinity';
    return [...counts].map(([status, value]) => ({
      name: 'slipway_platform_runs' as const,
      value,
      labels: { status },
    }));
  };

  const readRevisions = async (): Promise<readonly Reading[]> => {
    const rows = await kysely
      .selectFrom('revisions')
      .select(({ fn }) => ['status', fn.countAll<string>().as('count')])
      .where('status', 'in', UNSETTLED_STATUSES)
      .groupBy('status')
      .execute();
    return UNSETTLED_STATUSES.map((status) => ({
      name: 'slipway_platform_revisions' as const,
      value: Number(rows.find((row) => row.status === status)?.count ?? 0),
      labels: { status },
    }));
  };

  const readKeys = async (): Promise<readonly Reading[]> => {
    const row = await kysely
      .selectFrom('api_keys')
      .select(({ fn }) => fn.min('expires_at').as('next'))
      .where('revoked_at', 'is', null)
      .where('expires_at', '>', new Date())
      .executeTakeFirst();
    if (row?.next == null) return [];
    const value = new Date(row.next).getTime() / 1_000;
    return [{ name: 'slipway_platform_api_key_expiry_timestamp_seconds', value }];
  };

  return async () => {
    const { running, starting } = controlPlane.agents();
    const read = await Promise.all([readRevisions(), readRuns(), readKeys()]);
    return [
      { name: 'slipway_platform_builds_queued', value: controlPlane.buildQueue() },
      { name: 'slipway_platform_agents', value: running },
      { name: 'slipway_platform_agents_starting', value: starting },
      ...read.flat(),
    ];
  };
}
