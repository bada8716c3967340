import type { Migration } from '../../../store/migrate.ts';

/** The events of resumable streams: they go with their run. */
export const RUN_EVENTS: Migration = {
  name: '004 events of resumable streams',
  sql: [
    `CREATE TABLE slipway_agent.run_events (
      run_id uuid NOT NULL REFERENCES slipway_agent.runs ON DELETE CASCADE,
      id bigint NOT NULL,
      event text NOT NULL,
      data text NOT NULL,
      PRIMARY KEY (run_id, id)
    )`,
  ],
};
