import { createHash } from 'node:crypto';

import {
  type ColumnType,
  type Generated,
  type JSONColumnType,
  Kysely,
  PostgresDialect,
  type RawBuilder,
  type Selectable,
  sql,
} from 'kysely';
import pg from 'pg';

import { retryDuringOutage } from '../../store/databaseOutage.ts';
import { migrate } from '../../store/migrate.ts';
import { createPool } from '../../store/pool.ts';
import { AGENT_LEDGER, AGENT_MIGRATIONS } from './migrations.ts';

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

interface RunsTable {
  run_id: string;
  deployment_id: string;
  /** The order in which the runs of a thread were accepted. */
  sequence: Generated<string>;
  thread_id: string;
  assistant_id: string;
  created_at: Timestamp;
  updated_at: Timestamp;
  metadata: JSONColumnType<Record<string, unknown>>;
  status: string;
  kwargs: Json<Record<string, unknown>>;
  multitask_strategy: string;
  /** How often the run was begun, from 0. With the owner it is the fencing token of every write. */
  attempt: Generated<number>;
  /** How many attempts were lost with their process or its lease; the limit of attempts counts these. */
  lost_attempts: Generated<number>;
  /** The process that executes it or will; empty after a release. */
  owner: string;
  /** The run begins no earlier; null: at once. */
  start_after: Date | null;
  /** When to remove the record of an ended stateless run. */
  expires_at: Date | null;
  /** `interrupt` or `rollback`, once a client has requested it. */
  cancel_action: string | null;
  /** Whether its events are stored for readers in other processes. */
  followed: Generated<boolean>;
  /** Its thread's metadata and configuration when it began, for a rollback; null if it made the thread. */
  metadata_before: JSONColumnType<Record<string, unknown>> | null;
  config_before: Json<Record<string, unknown>> | null;
  /** The final values, if they are in no checkpoint of a thread, or for a webhook. */
  output: Json<unknown> | null;
  error: Json<RunFailure> | null;
  /** When to send the webhook again, unless it is delivered before; null: never. */
  webhook_due: Date | null;
}

export type RunRecord = Selectable<RunsTable>;

/** The statuses of runs that have not ended. */
export const ACTIVE = ['pending', 'running'];

/** The address to which a run's end is reported. */
export function webhookOf({ kwargs }: Pick<RunRecord, 'kwargs'>): string | undefined {
  return (kwargs as { webhook?: string | null }).webhook ?? undefined;
}

export function isActive(run: Pick<RunRecord, 'status'>): boolean {
  return ACTIVE.includes(run.status);
}

interface ProcessesTable {
  process_id: string;
  deployment_id: string;
  host: string;
  pid: number;
  heartbeat_at: Timestamp;
  /** Silence after which other processes may claim its runs, in milliseconds. */
  lease_ms: number;
}

/** Why a run failed: the error's name and message. */
export interface RunFailure {
  readonly error: string;
  readonly message: string;
}

interface AssistantsTable {
  deployment_id: string;
  assistant_id: string;
  version: number;
  created_at: Timestamp;
  updated_at: Timestamp;
}

export interface AssistantVersionsTable {
  deployment_id: string;
  assistant_id: string;
  version: number;
  graph_id: string;
  name: string;
  description: string | null;
  config: Json<Record<string, unknown>>;
  context: Json<Record<string, unknown>>;
  metadata: JSONColumnType<Record<string, unknown>>;
  created_at: Timestamp;
}

/** The tables of the agent servers. All deployments of a platform share them, separated by `deployment_id`. */
export interface AgentTables {
  'slipway_agent.threads': ThreadsTable;
  'slipway_agent.runs': RunsTable;
  'slipway_agent.processes': ProcessesTable;
  'slipway_agent.assistants': AssistantsTable;
  'slipway_agent.assistant_versions': AssistantVersionsTable;
}

/** The deployment whose rows a store keeps. */
export interface Deployment {
  readonly db: Kysely<AgentTables>;
  readonly deploymentId: string;
}

/** A deployment, and the process that executes its runs. */
export interface ProcessOfDeployment extends Deployment {
  readonly processId: string;
}

/** Reads and changes the rows of one deployment. */
export abstract class DeploymentStore {
  protected readonly db: Kysely<AgentTables>;
  protected readonly deploymentId: string;

  constructor({ db, deploymentId }: Deployment) {
    this.db = db;
    this.deploymentId = deploymentId;
  }

  /** The SQL condition of a thread's row, and of the rows of its runs. */
  protected threadCondition(threadId: string): RawBuilder<unknown> {
    return sql`deployment_id = ${this.deploymentId} AND thread_id = ${threadId}`;
  }
}

export type AgentDatabase = Awaited<ReturnType<typeof openAgentDatabase>>;

/** The most connections of one agent server, because many agents share one database. */
const POOL_SIZE = 8;

/** The timeout for a connection, in milliseconds: many runs may write at once. */
const CONNECT_MS = 30_000;

/** The timeout for an answer, in milliseconds: a silent network must not block a run forever. */
const QUERY_MS = 60_000;

/** The timeout of a heartbeat, in milliseconds, for connection and answer each. */
const HEARTBEAT_MS = 5_000;

/** How long each step of a start waits for a database that is away, in milliseconds. */
export const AWAY_MS = 30_000;

/**
 * Connects and creates missing tables, also several processes at once. Waits for a database that is away. `onError`: for
 * broken idle connections.
 */
export async function openAgentDatabase(databaseUrl: string, onError: (error: Error) => void) {
  const open = (options: pg.PoolConfig) => {
    const pool = createPool(
      { connectionString: databaseUrl, keepAlive: true, Client: PreparingClient, types: TYPES, ...options },
      onError,
    );
    return { pool, kysely: new Kysely<AgentTables>({ dialect: new PostgresDialect({ pool }) }) };
  };
  const { pool, kysely } = open({
    max: POOL_SIZE,
    idleTimeoutMillis: 60_000,
    connectionTimeoutMillis: CONNECT_MS,
    query_timeout: QUERY_MS,
  });
  // Separate, with short timeouts, so that queued checkpoints never delay a heartbeat.
  const { kysely: heartbeats } = open({
    max: 1,
    connectionTimeoutMillis: HEARTBEAT_MS,
    query_timeout: HEARTBEAT_MS,
  });
  const close = async (): Promise<void> => {
    await Promise.all([kysely.destroy(), heartbeats.destroy()]);
  };
  try {
    await retryDuringOutage(AbortSignal.timeout(AWAY_MS), () =>
      migrate(kysely, { ledger: AGENT_LEDGER, migrations: AGENT_MIGRATIONS }),
    );
  } catch (error) {
    await close();
    throw error;
  }
  return { kysely, pool, heartbeats, close };
}

/** Reads Postgres' text of an array of bytes in any dimensions, such as `{{"\\x6f6b",NULL}}`. */
export function parseByteaArray(text: string): unknown {
  // Every second part is quoted. In the JSON of the array's shape, it is the part's number.
  const parts = text.split('"');
  const shape = parts.map((part, index) => (index % 2 === 0 ? part : index)).join('');
  const json = shape.replaceAll('{', '[').replaceAll('}', ']').replaceAll('NULL', 'null');
  return JSON.parse(json, (_, value: unknown) =>
    typeof value === 'number' ? Buffer.from(parts[value]?.slice(3) ?? '', 'hex') : value,
  );
}

/** `pg` reads `bytea[]`, the type of a checkpoint's values and writes, character by character: 18 MB in 4 s. */
const TYPES = new pg.TypeOverrides();
TYPES.setTypeParser(1001, parseByteaArray);

/** How many statements a connection keeps prepared. The server has some dozens of fixed texts. */
const PREPARED_MAX = 200;

/**
 * Prepares statements, which halves the processor time of beginning a run. A pooler (PgBouncer 1.21) must support it.
 */
class PreparingClient extends pg.Client {
  readonly #names = new Map<string, string>();

  constructor(config?: string | pg.ClientConfig) {
    super(config);
    const send = super.query.bind(this) as (...args: unknown[]) => unknown;
    // Only one of many signatures: the pool, Kysely and the saver send a text with its values.
    this.query = ((text: unknown, values: unknown, ...rest: unknown[]) => {
      if (typeof text !== 'string' || !Array.isArray(values)) return send(text, values, ...rest);
      const name = this.#nameOf(text);
      return name === undefined ? send(text, values, ...rest) : send({ name, text, values }, ...rest);
    }) as typeof this.query;
  }

  /** `undefined` once the connection has its maximum: texts that differ each time would fill it. */
  #nameOf(text: string): string | undefined {
    const known = this.#names.get(text);
    if (known !== undefined || this.#names.size >= PREPARED_MAX) return known;
    const name = createHash('sha1').update(text).digest('hex');
    this.#names.set(text, name);
    return name;
  }
}
