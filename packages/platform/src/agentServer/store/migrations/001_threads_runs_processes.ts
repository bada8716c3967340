import type { Migration } from '../../../store/migrate.ts';

/** Threads, their runs, and the processes that execute them. */
export const THREADS_RUNS_PROCESSES: Migration = {
  name: '001 threads, runs, processes',
  sql: [
    'CREATE SCHEMA IF NOT EXISTS slipway_agent',
    `CREATE TABLE IF NOT EXISTS slipway_agent.threads (
  deployment_id text NOT NULL,
  thread_id uuid NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  metadata jsonb NOT NULL DEFAULT '{}',
  status text NOT NULL DEFAULT 'idle',
  config json NOT NULL DEFAULT '{}',
  "values" json,
  interrupts json NOT NULL DEFAULT '{}',
  error json,
  PRIMARY KEY (deployment_id, thread_id)
)`,
    `CREATE INDEX IF NOT EXISTS threads_by_time ON slipway_agent.threads (deployment_id, created_at DESC)`,
    `CREATE TABLE IF NOT EXISTS slipway_agent.runs (
  run_id uuid PRIMARY KEY,
  deployment_id text NOT NULL,
  sequence bigserial NOT NULL,
  thread_id uuid NOT NULL,
  assistant_id uuid NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  metadata jsonb NOT NULL DEFAULT '{}',
  status text NOT NULL,
  kwargs json NOT NULL,
  multitask_strategy text NOT NULL,
  attempt integer NOT NULL DEFAULT 0,
  owner text NOT NULL,
  cancel_action text,
  output json,
  error json
)`,
    `CREATE INDEX IF NOT EXISTS runs_of_thread ON slipway_agent.runs (deployment_id, thread_id, sequence DESC)`,
    `CREATE INDEX IF NOT EXISTS runs_active ON slipway_agent.runs (deployment_id, owner)
  WHERE status IN ('pending', 'running')`,
    `CREATE TABLE IF NOT EXISTS slipway_agent.processes (
  process_id text PRIMARY KEY,
  deployment_id text NOT NULL,
  host text NOT NULL,
  pid integer NOT NULL,
  heartbeat_at timestamptz NOT NULL DEFAULT now()
)`,
  ],
};
