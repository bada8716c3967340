import { sql } from 'kysely';

import { ACTIVE, DeploymentStore } from './agentDatabase.ts';
import type { Fence } from './fencedWrites.ts';

/** One event of a run's stream. `id` counts from 1 within the run, over all of its attempts. */
export interface StreamEvent {
  readonly id: number;
  /** The kind; a subgraph's namespace follows after a bar: `updates|sub:<id>`. */
  readonly event: string;
  /** JSON text. */
  readonly data: string;
}

/** How much of a stream one read returns, in bytes; at least one event. */
const READ_BYTES = 1_048_576;

/** How long the events of a run can be read after its end, in minutes. */
const RETENTION_MINUTES = 10;

/** Stores the events of resumable runs from the start, of others once a reader in another process asks for them. */
export class EventStore extends DeploymentStore {
  /**
   * Stores events of an attempt in one statement, and drops those up to `dropThrough`. Safe to repeat. Returns
   * whether the owner still has the run in this attempt; if not, nothing was stored.
   */
  async append(fence: Fence, events: readonly StreamEvent[], dropThrough: number): Promise<boolean> {
    const { rows } = await sql<{ held: boolean }>`
      WITH fence AS MATERIALIZED (
        SELECT run_id FROM slipway_agent.runs
        WHERE run_id = ${fence.runId} AND attempt = ${fence.attempt} AND owner = ${fence.owner} FOR SHARE
      ), dropped AS (
        DELETE FROM slipway_agent.run_events e USING fence WHERE e.run_id = fence.run_id AND e.id <= ${dropThrough}
      ), stored AS (
        INSERT INTO slipway_agent.run_events (run_id, id, event, data)
        SELECT fence.run_id, e.id, e.event, e.data FROM fence, unnest(
          ${events.map(({ id }) => id)}::bigint[], ${events.map(({ event }) => event)}::text[],
          ${events.map(({ data }) => data)}::text[]) AS e (id, event, data)
        ON CONFLICT DO NOTHING
      ) SELECT EXISTS (SELECT 1 FROM fence) AS held`.execute(this.db);
    return rows[0]?.held === true;
  }

  /** Requests that the events of an active run be stored from now on. Its process sees the request within a second. */
  async requestStoring(runId: string): Promise<void> {
    await this.db
      .updateTable('slipway_agent.runs')
      .set({ followed: true })
      .where('run_id', '=', runId)
      .where('status', 'in', ACTIVE)
      .where('followed', '=', false)
      .execute();
  }

  /** The events of a run after `after`, in order: as many as fit in one read. */
  async read(runId: string, after: number): Promise<StreamEvent[]> {
    const { rows } = await sql<{ id: string; event: string; data: string }>`
      SELECT id, event, data FROM (
        SELECT id, event, data, sum(length(data)) OVER (ORDER BY id) - length(data) AS before
        FROM slipway_agent.run_events WHERE run_id = ${runId} AND id > ${after}
      ) e WHERE before < ${READ_BYTES} ORDER BY id`.execute(this.db);
    return rows.map(({ id, event, data }) => ({ id: Number(id), event, data }));
  }

  async readAll(runId: string, after: number): Promise<StreamEvent[]> {
    const all: StreamEvent[] = [];
    for (let from = after; ;) {
      const events = await this.read(runId, from);
      const last = events.at(-1);
      if (last === undefined) return all;
      all.push(...events);
      from = last.id;
    }
  }

  async storedSizes(runId: string): Promise<{ id: number; bytes: number }[]> {
    const { rows } = await sql<{ id: string; bytes: number }>`
      SELECT id, octet_length(data) AS bytes FROM slipway_agent.run_events
      WHERE run_id = ${runId} ORDER BY id`.execute(this.db);
    return rows.map(({ id, bytes }) => ({ id: Number(id), bytes }));
  }

  /** The id of a run's newest event; 0 if there is none. */
  async newestId(runId: string): Promise<number> {
    const { rows } = await sql<{ id: string | null }>`
      SELECT max(id) AS id FROM slipway_agent.run_events WHERE run_id = ${runId}`.execute(this.db);
    return Number(rows[0]?.id ?? 0);
  }

  /** Drops the events of runs that ended more than {@link RETENTION_MINUTES} ago. */
  async removeExpired(): Promise<void> {
    await sql`
      DELETE FROM slipway_agent.run_events e USING slipway_agent.runs r
      WHERE r.run_id = e.run_id AND r.deployment_id = ${this.deploymentId}
        AND r.status NOT IN ('pending', 'running')
        AND r.updated_at < now() - ${RETENTION_MINUTES} * interval '1 minute'`.execute(this.db);
  }
}
