import type { Migration } from '../../../store/migrate.ts';

/** Processes look for their followed runs twice a second: mostly there are none. */
export const RUNS_TO_FOLLOW: Migration = {
  name: '007 finding the runs that are followed',
  sql: [
    `CREATE INDEX runs_to_follow ON slipway_agent.runs (owner)
      WHERE followed AND status IN ('pending', 'running')`,
  ],
};
