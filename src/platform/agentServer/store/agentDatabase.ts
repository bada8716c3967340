import { type ColumnType, type Generated, type JSONColumnType, Kysely, PostgresDialect } from 'kysely';
import pg from 'pg';

import { migrate, type Migration } from '../../store/migrate.ts';
import { type AssistantTables } from './assistantTables.ts';
import { ASSISTANTS } from './migrations/003_assistants.ts';

/** A `json` column: read parsed, written as text. */
type Json<T> = ColumnType<T, string, string>;
type Timestamp = ColumnType<Date, Date | undefined, Date>;

/** A thread of a deployment (contract 001, "Thread"). */
export interface ThreadsTable {
  deployment_id: string;
  thread_id: string;
  created_at: Timestamp;
  updated_at: Timestamp;
  metadata: JSONColumnType<Record<string, unknown>>;
  status: string;
  config: Json<Record<string, unknown>>;
  values: Json<Record<string, unknown> | null> | null;
  interrupts: Json<Record<string, unknown>>;
  error: Json<RunFailure> | null;
}

/** A run (contract 001, "Run"), with what its execution needs beside. */
export interface RunsTable {
  run_id: string;
  deployment_id: string;
  /** Orders the runs of a thread as they were accepted. */
  sequence: Generated<string>;
  thread_id: string;
  assistant_id: string;
  created_at: Timestamp;
  updated_at: Timestamp;
  metadata: JSONColumnType<Record<string, unknown>>;
  status: string;
  kwargs: Json<Record<string, unknown>>;
  multitask_strategy: string;
  /** How often the run was started: 0 while it is pending. */
  attempt: Generated<number>;
  /** The process that executes it. */
  owner: string;
  /** `interrupt` or `rollback`, once somebody asked for it. */
  cancel_action: string | null;
  /** The final values of a stateless run, which has no thread to read them from. */
  output: Json<unknown> | null;
  error: Json<RunFailure> | null;
}

/** An agent server's process, so that others notice when it is gone. */
export interface ProcessesTable {
  process_id: string;
  deployment_id: string;
  host: string;
  pid: number;
  heartbeat_at: Timestamp;
}

/** Why a run ended other than well: the error's name and its message. */
export interface RunFailure {
  readonly error: string;
  readonly message: string;
}

/** The tables of the agent servers. All deployments of a platform share them, by `deployment_id`. */
export interface AgentTables extends AssistantTables {
  'slipway_agent.threads': ThreadsTable;
  'slipway_agent.runs': RunsTable;
  'slipway_agent.processes': ProcessesTable;
}

/** The Postgres schema that holds the checkpoints of every deployment of a platform. */
export const CHECKPOINT_SCHEMA = 'slipway_checkpoints';

/** Under which a deployment's thread stands in the tables of {@link CHECKPOINT_SCHEMA}, which know no deployments. */
export function storedThreadId(deploymentId: string, threadId: string): string {
  return `${deploymentId}/${threadId}`;
}

/** An agent server's connections to its database. */
export interface AgentDatabase {
  readonly kysely: Kysely<AgentTables>;
  readonly pool: pg.Pool;
  close(): Promise<void>;
}

/** How many connections one agent server keeps at most: many agents share one database. */
const POOL_SIZE = 8;

/**
 * Connects to `databaseUrl` and makes the tables where they are missing; several processes may start at once.
 * `onError` hears of idle connections that broke: the pool replaces them.
 */
export async function openAgentDatabase(
  databaseUrl: string,
  onError: (error: Error) => void,
): Promise<AgentDatabase> {
  const pool = new pg.Pool({ connectionString: databaseUrl, max: POOL_SIZE, idleTimeoutMillis: 60_000 });
  pool.on('error', onError);
  const kysely = new Kysely<AgentTables>({ dialect: new PostgresDialect({ pool }) });
  try {
    await migrate(kysely, { ledger: 'slipway_agent_migrations', migrations: MIGRATIONS });
  } catch (error) {
    await kysely.destroy();
    throw error;
  }
  return { kysely, pool, close: () => kysely.destroy() };
}

/** The tables, step by step. A step that was released is never edited: add the next one. */
const MIGRATIONS: readonly Migration[] = [
  {
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
  },
  ASSISTANTS,
];
