import type { Migration } from '../../../store/migrate.ts';

/** Which runs are followed by readers in other processes: from then on their events are stored. */
export const FOLLOWED_RUNS: Migration = {
  name: '006 runs that are followed in other processes',
  sql: ['ALTER TABLE slipway_agent.runs ADD COLUMN followed boolean NOT NULL DEFAULT false'],
};
