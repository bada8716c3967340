import { createHash } from 'node:crypto';

import { type ColumnType, type Generated, type JSONColumnType, Kysely, PostgresDialect } from 'kysely';
import pg from 'pg';

import { migrate } from '../../store/migrate.ts';
import { AGENT_MIGRATIONS } from './migrations.ts';

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
  /** How often the run was begun: 0 before it ever was. With the owner it is the token that every write is fenced by. */
  attempt: Generated<number>;
  /** How many of its attempts ended with their process, or with its lease: what the limit of attempts counts. */
  lost_attempts: Generated<number>;
  /** The process that executes it, or is to; empty when it was released and waits for one. */
  owner: string;
  /** Not before then is it to begin; null: at once. */
  start_after: Date | null;
  /** When the record of an ended run goes (stateless runs); null: it stays. */
  expires_at: Date | null;
  /** `interrupt` or `rollback`, once somebody asked for it. */
  cancel_action: string | null;
  /** Whether readers in other processes want its events, which are stored for them then. */
  followed: Generated<boolean>;
  /** The final values of a stateless run, which has no thread to read them from. */
  output: Json<unknown> | null;
  error: Json<RunFailure> | null;
}

/** An agent server's process: the lease on all of its runs. */
interface ProcessesTable {
  process_id: string;
  deployment_id: string;
  host: string;
  pid: number;
  heartbeat_at: Timestamp;
  /** After how much silence its runs are anybody's, in milliseconds. */
  lease_ms: number;
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
  /** One connection apart, with a short patience: a queue of checkpoints never delays a sign of life. */
  readonly heartbeats: Kysely<AgentTables>;
  close(): Promise<void>;
}

/** How many connections one agent server keeps at most: many agents share one database. */
const POOL_SIZE = 8;

/** How long a connection is waited for, in milliseconds: also behind others, where many runs write at once. */
const CONNECT_MS = 30_000;

/** How long an answer is waited for, in milliseconds: a network that swallows everything must not hold a run for ever. */
const QUERY_MS = 60_000;

/** The same for a sign of life, connection and answer each. */
const HEARTBEAT_MS = 5_000;

/**
 * Connects to `databaseUrl` and makes the tables where they are missing; several processes may start at once.
 * `onError` hears of idle connections that broke: the pool replaces them.
 */
export async function openAgentDatabase(
  databaseUrl: string,
  onError: (error: Error) => void,
): Promise<AgentDatabase> {
  let closing = false;
  const poolOf = (options: pg.PoolConfig) => {
    const pool = new pg.Pool({
      connectionString: databaseUrl,
      keepAlive: true,
      Client: PreparingClient,
      ...options,
    });
    pool.on('error', (error) => {
      // While it closes, the embedded server says good-bye to connections that are on their way out already.
      if (!closing) onError(error);
    });
    return pool;
  };
  const pool = poolOf({
    max: POOL_SIZE,
    idleTimeoutMillis: 60_000,
    connectionTimeoutMillis: CONNECT_MS,
    query_timeout: QUERY_MS,
  });
  const kysely = new Kysely<AgentTables>({ dialect: new PostgresDialect({ pool }) });
  const heartbeats = new Kysely<AgentTables>({
    dialect: new PostgresDialect({
      pool: poolOf({ max: 1, connectionTimeoutMillis: HEARTBEAT_MS, query_timeout: HEARTBEAT_MS }),
    }),
  });
  const close = async () => {
    closing = true;
    await Promise.all([kysely.destroy(), heartbeats.destroy()]);
  };
  try {
    await migrate(kysely, { ledger: 'slipway_agent_migrations', migrations: AGENT_MIGRATIONS });
  } catch (error) {
    await close();
    throw error;
  }
  return { kysely, pool, heartbeats, close };
}

/** What one version of an assistant holds. */
interface AssistantVersionsTable {
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

/** An assistant that somebody made: which of its versions counts. */
interface AssistantsTable {
  deployment_id: string;
  assistant_id: string;
  version: number;
  created_at: Timestamp;
  updated_at: Timestamp;
}

/** The tables of assistants. */
interface AssistantTables {
  'slipway_agent.assistants': AssistantsTable;
  'slipway_agent.assistant_versions': AssistantVersionsTable;
}

/** How many statements a connection keeps prepared: the server's own are some dozens, made of fixed texts. */
const PREPARED_MAX = 200;

/**
 * A connection that has its statements prepared: what is sent with parameters is parsed and planned once, not each time.
 * Measured on the embedded database: beginning a run and storing a checkpoint take less than half of the processor.
 *
 * A pooler between here and Postgres has to know prepared statements (PgBouncer does from 1.21 on).
 */
class PreparingClient extends pg.Client {
  readonly #names = new Map<string, string>();

  constructor(config?: string | pg.ClientConfig) {
    super(config);
    const send = super.query.bind(this) as (...args: unknown[]) => unknown;
    // One of many signatures: a text with its values is what the pool, Kysely and the saver send.
    this.query = ((text: unknown, values: unknown, ...rest: unknown[]) => {
      if (typeof text !== 'string' || !Array.isArray(values)) return send(text, values, ...rest);
      const name = this.#nameOf(text);
      return name === undefined ? send(text, values, ...rest) : send({ name, text, values }, ...rest);
    }) as typeof this.query;
  }

  /** `undefined` once the connection keeps as many as it may: texts that are made up each time would fill it. */
  #nameOf(text: string): string | undefined {
    const known = this.#names.get(text);
    if (known !== undefined || this.#names.size >= PREPARED_MAX) return known;
    const name = createHash('sha1').update(text).digest('hex');
    this.#names.set(text, name);
    return name;
  }
}
