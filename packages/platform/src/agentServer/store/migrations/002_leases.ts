import type { Migration } from '../../../store/migrate.ts';

/** Runs that outlive their process: leases, attempts, a time to begin, a time to be forgotten. */
export const LEASES: Migration = {
  name: '002 leases, attempts, retention of runs',
  sql: [
    'ALTER TABLE slipway_agent.processes ADD COLUMN lease_ms integer NOT NULL DEFAULT 20000',
    `ALTER TABLE slipway_agent.runs
      ADD COLUMN lost_attempts integer NOT NULL DEFAULT 0,
      ADD COLUMN start_after timestamptz,
      ADD COLUMN expires_at timestamptz`,
    `CREATE INDEX runs_to_cancel ON slipway_agent.runs (owner)
      WHERE cancel_action IS NOT NULL AND status IN ('pending', 'running')`,
    `CREATE INDEX runs_to_forget ON slipway_agent.runs (deployment_id, expires_at) WHERE expires_at IS NOT NULL`,
    `UPDATE slipway_agent.runs SET expires_at = now() + interval '1 hour'
      WHERE kwargs->>'temporary' = 'true' AND status NOT IN ('pending', 'running')`,
  ],
};
