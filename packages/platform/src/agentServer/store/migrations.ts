import { DEPLOYMENT_OF_ROLE, rowsOf } from '../../store/agentRole.ts';
import type { Migration } from '../../store/migrate.ts';

const THREADS_RUNS_PROCESSES = [
  'create schema if not exists slipway_agent',
  `create table slipway_agent.threads (
    deployment_id text not null,
    thread_id uuid not null,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    metadata jsonb not null default '{}',
    status text not null default 'idle',
    config json not null default '{}',
    "values" json,
    interrupts json not null default '{}',
    error json,
    primary key (deployment_id, thread_id)
  )`,
  `create index threads_by_time on slipway_agent.threads (deployment_id, created_at desc)`,
  `create table slipway_agent.runs (
    run_id uuid primary key,
    deployment_id text not null,
    sequence bigserial not null,
    thread_id uuid not null,
    assistant_id uuid not null,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    metadata jsonb not null default '{}',
    status text not null,
    kwargs json not null,
    multitask_strategy text not null,
    attempt integer not null default 0,
    lost_attempts integer not null default 0,
    owner text not null,
    start_after timestamptz,
    expires_at timestamptz,
    cancel_action text,
    followed boolean not null default false,
    output json,
    error json
  )`,
  `create index runs_of_thread on slipway_agent.runs (deployment_id, thread_id, sequence desc)`,
  `create index runs_active on slipway_agent.runs (deployment_id, owner) where status in ('pending', 'running')`,
  `create index runs_to_cancel on slipway_agent.runs (owner)
    where cancel_action is not null and status in ('pending', 'running')`,
  // Processes query for their followed runs twice a second, and mostly there are none.
  `create index runs_to_follow on slipway_agent.runs (owner) where followed and status in ('pending', 'running')`,
  `create index runs_to_forget on slipway_agent.runs (deployment_id, expires_at) where expires_at is not null`,
  // The events of resumable streams, deleted with their run.
  `create table slipway_agent.run_events (
    run_id uuid not null references slipway_agent.runs on delete cascade,
    id bigint not null,
    event text not null,
    data text not null,
    primary key (run_id, id)
  )`,
  `create table slipway_agent.processes (
    process_id text primary key,
    deployment_id text not null,
    host text not null,
    pid integer not null,
    heartbeat_at timestamptz not null default now(),
    lease_ms integer not null
  )`,
];

const ASSISTANTS = [
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
];

/** The long-term store. Namespaces sort by their bytes, so that a common prefix is one range of the index. */
const STORE_ITEMS = [
  `create table slipway_agent.store_items (
    deployment_id text not null,
    namespace text[] collate "C" not null,
    key text collate "C" not null,
    value jsonb not null,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    ttl_minutes double precision,
    expires_at timestamptz,
    primary key (deployment_id, namespace, key)
  )`,
  `create index store_items_to_forget on slipway_agent.store_items (deployment_id, expires_at)
    where expires_at is not null`,
];

/**
 * The tables of LangGraph's `PostgresSaver` in its version 4, and the writes that a rollback restores. They are
 * created here because an agent with its own database role may not create tables.
 */
const CHECKPOINTS = [
  'create schema if not exists slipway_checkpoints',
  'create table slipway_checkpoints.checkpoint_migrations (v integer primary key)',
  `insert into slipway_checkpoints.checkpoint_migrations select generate_series(0, 4)`,
  `create table slipway_checkpoints.checkpoints (
    thread_id text not null,
    checkpoint_ns text not null default '',
    checkpoint_id text not null,
    parent_checkpoint_id text,
    type text,
    checkpoint jsonb not null,
    metadata jsonb not null default '{}',
    primary key (thread_id, checkpoint_ns, checkpoint_id)
  )`,
  `create table slipway_checkpoints.checkpoint_blobs (
    thread_id text not null,
    checkpoint_ns text not null default '',
    channel text not null,
    version text not null,
    type text not null,
    blob bytea,
    primary key (thread_id, checkpoint_ns, channel, version)
  )`,
  `create table slipway_checkpoints.checkpoint_writes (
    thread_id text not null,
    checkpoint_ns text not null default '',
    checkpoint_id text not null,
    task_id text not null,
    idx integer not null,
    channel text not null,
    type text,
    blob bytea not null,
    primary key (thread_id, checkpoint_ns, checkpoint_id, task_id, idx)
  )`,
  `create table slipway_checkpoints.writes_before_run (
    run_id uuid not null,
    like slipway_checkpoints.checkpoint_writes
  )`,
  `create index writes_before_run_by_run on slipway_checkpoints.writes_before_run (run_id)`,
];

/** Row-level security for the agents' roles (`agentStorage.ts`): a role sees its deployment's rows. */
const ROWS_BY_ROLE = [
  ...['threads', 'runs', 'processes', 'assistants', 'assistant_versions', 'store_items'].flatMap((table) =>
    rowsOf(`slipway_agent.${table}`, `deployment_id = ${DEPLOYMENT_OF_ROLE}`),
  ),
  ...rowsOf(
    'slipway_agent.run_events',
    `exists (select 1 from slipway_agent.runs r
      where r.run_id = run_events.run_id and r.deployment_id = ${DEPLOYMENT_OF_ROLE})`,
  ),
  ...['checkpoints', 'checkpoint_blobs', 'checkpoint_writes', 'writes_before_run'].flatMap((table) =>
    rowsOf(`slipway_checkpoints.${table}`, `starts_with(thread_id, ${DEPLOYMENT_OF_ROLE} || '/')`),
  ),
  'alter table slipway_checkpoints.checkpoint_migrations enable row level security',
];

/** The table of applied migrations. */
export const AGENT_LEDGER = 'slipway_agent_migrations';

/** The migrations of the agent servers' tables. Never edit a released one: add the next. */
export const AGENT_MIGRATIONS: readonly Migration[] = [
  {
    name: '001 the first release',
    sql: [...THREADS_RUNS_PROCESSES, ...ASSISTANTS, ...STORE_ITEMS, ...CHECKPOINTS, ...ROWS_BY_ROLE],
  },
  {
    name: '002 what a rollback restores of a thread',
    sql: ['alter table slipway_agent.runs add column metadata_before jsonb, add column config_before json'],
  },
  {
    name: '003 webhooks that are not delivered yet',
    sql: [
      'alter table slipway_agent.runs add column webhook_due timestamptz',
      `create index runs_to_notify on slipway_agent.runs (deployment_id, webhook_due) where webhook_due is not null`,
    ],
  },
];
