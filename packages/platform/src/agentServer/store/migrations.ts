import { DEPLOYMENT_OF_ROLE, rowsOf } from '../../store/agentRole.ts';
import type { Migration } from '../../store/migrate.ts';

/** Threads, their runs, and the processes that execute them. */
const THREADS_RUNS_PROCESSES: Migration = {
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

/** Runs that outlive their process: leases, attempts, a start time, an expiry. */
const LEASES: Migration = {
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

/** Assistants that clients created, and their versions. */
const ASSISTANTS: Migration = {
  name: '003 assistants and their versions',
  sql: [
    `create table slipway_agent.assistants (
      deployment_id text not null,
      assistant_id uuid not null,
      version integer not null,
      created_at timestamptz not null default now(),
      updated_at timestamptz not null default now(),
      primary key (deployment_id, assistant_id)
    )`,
    `create table slipway_agent.assistant_versions (
      deployment_id text not null,
      assistant_id uuid not null,
      version integer not null,
      graph_id text not null,
      name text not null,
      description text,
      config json not null,
      context json not null,
      metadata jsonb not null,
      created_at timestamptz not null default now(),
      primary key (deployment_id, assistant_id, version),
      foreign key (deployment_id, assistant_id)
        references slipway_agent.assistants (deployment_id, assistant_id) on delete cascade
    )`,
  ],
};

/** The events of resumable streams, deleted with their run. */
const RUN_EVENTS: Migration = {
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

/** The long-term store. Namespaces sort by their bytes, so that a common prefix is one range of the index. */
const STORE_ITEMS: Migration = {
  name: '005 items of the long-term store',
  sql: [
    `CREATE TABLE slipway_agent.store_items (
      deployment_id text NOT NULL,
      namespace text[] COLLATE "C" NOT NULL,
      key text COLLATE "C" NOT NULL,
      value jsonb NOT NULL,
      created_at timestamptz NOT NULL DEFAULT now(),
      updated_at timestamptz NOT NULL DEFAULT now(),
      ttl_minutes double precision,
      expires_at timestamptz,
      PRIMARY KEY (deployment_id, namespace, key)
    )`,
    `CREATE INDEX store_items_to_forget ON slipway_agent.store_items (deployment_id, expires_at)
      WHERE expires_at IS NOT NULL`,
  ],
};

/** Marks runs with readers in other processes. From then on their events are stored. */
const FOLLOWED_RUNS: Migration = {
  name: '006 runs that are followed in other processes',
  sql: ['ALTER TABLE slipway_agent.runs ADD COLUMN followed boolean NOT NULL DEFAULT false'],
};

/** Processes query for their followed runs twice a second, and mostly there are none. */
const RUNS_TO_FOLLOW: Migration = {
  name: '007 finding the runs that are followed',
  sql: [
    `CREATE INDEX runs_to_follow ON slipway_agent.runs (owner)
      WHERE followed AND status IN ('pending', 'running')`,
  ],
};

/**
 * The tables of LangGraph's `PostgresSaver` in its version 4, and the writes that a rollback restores. They are
 * created here because an agent with its own database role may not create tables.
 */
const CHECKPOINTS: Migration = {
  name: '008 checkpoints',
  sql: [
    'CREATE SCHEMA IF NOT EXISTS slipway_checkpoints',
    'CREATE TABLE IF NOT EXISTS slipway_checkpoints.checkpoint_migrations (v integer PRIMARY KEY)',
    `CREATE TABLE IF NOT EXISTS slipway_checkpoints.checkpoints (
      thread_id text NOT NULL,
      checkpoint_ns text NOT NULL DEFAULT '',
      checkpoint_id text NOT NULL,
      parent_checkpoint_id text,
      type text,
      checkpoint jsonb NOT NULL,
      metadata jsonb NOT NULL DEFAULT '{}',
      PRIMARY KEY (thread_id, checkpoint_ns, checkpoint_id)
    )`,
    `CREATE TABLE IF NOT EXISTS slipway_checkpoints.checkpoint_blobs (
      thread_id text NOT NULL,
      checkpoint_ns text NOT NULL DEFAULT '',
      channel text NOT NULL,
      version text NOT NULL,
      type text NOT NULL,
      blob bytea,
      PRIMARY KEY (thread_id, checkpoint_ns, channel, version)
    )`,
    'ALTER TABLE slipway_checkpoints.checkpoint_blobs ALTER COLUMN blob DROP NOT NULL',
    `CREATE TABLE IF NOT EXISTS slipway_checkpoints.checkpoint_writes (
      thread_id text NOT NULL,
      checkpoint_ns text NOT NULL DEFAULT '',
      checkpoint_id text NOT NULL,
      task_id text NOT NULL,
      idx integer NOT NULL,
      channel text NOT NULL,
      type text,
      blob bytea NOT NULL,
      PRIMARY KEY (thread_id, checkpoint_ns, checkpoint_id, task_id, idx)
    )`,
    `INSERT INTO slipway_checkpoints.checkpoint_migrations SELECT generate_series(0, 4) ON CONFLICT DO NOTHING`,
    `CREATE TABLE IF NOT EXISTS slipway_checkpoints.writes_before_run (
      run_id uuid NOT NULL,
      LIKE slipway_checkpoints.checkpoint_writes
    )`,
    `CREATE INDEX IF NOT EXISTS writes_before_run_by_run ON slipway_checkpoints.writes_before_run (run_id)`,
  ],
};

/**
 * Row-level security for the agents' roles (`agentStorage.ts`): a role sees its deployment's rows. The tables' owner
 * sees all.
 */
const ROWS_BY_ROLE: Migration = {
  name: '009 a role of a deployment sees its rows alone',
  sql: [
    ...['threads', 'runs', 'processes', 'assistants', 'assistant_versions', 'store_items'].flatMap((table) =>
      rowsOf(`slipway_agent.${table}`, `deployment_id = ${DEPLOYMENT_OF_ROLE}`),
    ),
    ...rowsOf(
      'slipway_agent.run_events',
      `EXISTS (SELECT 1 FROM slipway_agent.runs r
        WHERE r.run_id = run_events.run_id AND r.deployment_id = ${DEPLOYMENT_OF_ROLE})`,
    ),
    ...['checkpoints', 'checkpoint_blobs', 'checkpoint_writes', 'writes_before_run'].flatMap((table) =>
      rowsOf(`slipway_checkpoints.${table}`, `starts_with(thread_id, ${DEPLOYMENT_OF_ROLE} || '/')`),
    ),
    'ALTER TABLE slipway_checkpoints.checkpoint_migrations ENABLE ROW LEVEL SECURITY',
  ],
};

/** The table of applied migrations. */
export const AGENT_LEDGER = 'slipway_agent_migrations';

/** The migrations of the agent servers' tables. Never edit a released one: add the next. */
export const AGENT_MIGRATIONS: readonly Migration[] = [
  THREADS_RUNS_PROCESSES,
  LEASES,
  ASSISTANTS,
  RUN_EVENTS,
  STORE_ITEMS,
  FOLLOWED_RUNS,
  RUNS_TO_FOLLOW,
  CHECKPOINTS,
  ROWS_BY_ROLE,
];
