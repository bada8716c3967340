import { createHash, randomUUID } from 'node:crypto';

import type {
  FeedbackLinks,
  FeedbackListQuery,
  FeedbackSubmission,
  TracingProjectsQuery,
} from '@slipway/contract/runApi/feedback';
import { type ColumnType, type Generated, type Kysely, type RawBuilder, type Selectable, sql } from 'kysely';

import { HttpProblem } from '../http/problem.ts';
import { DEPLOYMENT_OF_ROLE, rowsOf } from '../store/agentRole.ts';
import { migrate, type Migration, tableExists } from '../store/migrate.ts';
import type { Schema } from '../store/schema.ts';

/** How long a feedback link is valid by default, in seconds: 30 days. */
const FEEDBACK_LINK_SECONDS = 30 * 86_400;

/** How long an expired link is kept, in seconds: 30 days. */
const EXPIRED_KEPT_SECONDS = 30 * 86_400;

type Time = ColumnType<Date, Date | undefined, Date>;

interface FeedbackTokensTable {
  /** SHA-256 of the token, hex, so that a stored value cannot be used as a link. */
  token_hash: string;
  run_id: string;
  key: string;
  deployment_id: string | null;
  project_name: string | null;
  created_at: Time;
  expires_at: Time;
}

/** Feedback on a run under one key (contract 001, "Feedback submission fields"). */
interface FeedbackTable {
  id: Generated<string>;
  token_hash: string;
  run_id: string;
  key: string;
  score: number | null;
  value: unknown;
  comment: string | null;
  correction: unknown;
  metadata: unknown;
  created_at: Time;
  updated_at: Time;
}

interface TracingTables {
  'slipway_tracing.feedback_tokens': FeedbackTokensTable;
  'slipway_tracing.feedback': FeedbackTable;
}

/** A reader of feedback: a tenant reads that of its deployments' runs, an agent that of its own. */
export type FeedbackReader = { readonly tenantId: string } | { readonly deploymentId: string };

/** The table of applied tracing migrations. */
export const TRACING_LEDGER = 'slipway_tracing_migrations';

/** Creates missing tracing tables in any open database. */
export async function openTracing<Tables>(kysely: Kysely<Tables>): Promise<TracingStore> {
  await migrate(kysely, { ledger: TRACING_LEDGER, migrations: MIGRATIONS });
  // The schema's name separates these tables from the caller's own.
  return new TracingStore(kysely as unknown as Kysely<TracingTables>);
}

/**
 * Feedback on runs, and its pre-signed links.
 *
 * A link records one piece of feedback: the first submission creates it, each further one replaces it. So a client
 * that got no answer may repeat it, and a person may change their mind; neither counts twice. A submission without
 * fields replaces nothing: a link's preview sends it too.
 */
export class TracingStore {
  readonly #db: Kysely<TracingTables>;

  constructor(db: Kysely<TracingTables>) {
    this.#db = db;
  }

  /**
   * Creates one link per key (contract 001, "Feedback object"), each with a random token, bound to the run and the
   * key. `tracingUrl` is the address of the service with the routes of `feedbackRoutes.ts`.
   */
  async createFeedbackLinks(options: {
    tracingUrl: string;
    runId: string;
    keys: readonly string[];
    deploymentId?: string;
    projectName?: string;
    /** Default {@link FEEDBACK_LINK_SECONDS}. */
    expiresInSeconds?: number;
  }): Promise<FeedbackLinks> {
    const keys = [...new Set(options.keys)];
    if (keys.length === 0) return {};
    const expires = new Date(Date.now() + (options.expiresInSeconds ?? FEEDBACK_LINK_SECONDS) * 1_000);
    const tokens = keys.map((key) => ({ key, token: randomUUID() }));
    await this.#db
      .insertInto('slipway_tracing.feedback_tokens')
      .values(
        tokens.map(({ key, token }) => ({
          token_hash: hashOf(token),
          run_id: options.runId,
          key,
          deployment_id: options.deploymentId ?? null,
          project_name: options.projectName ?? null,
          expires_at: expires,
        })),
      )
      .execute();
    const base = options.tracingUrl.replace(/\/+$/, '');
    return Object.fromEntries(
      tokens.map(({ key, token }) => [key, `${base}/api/v1/feedback/tokens/${token}`]),
    );
  }

  /** Returns the link's key. @throws HttpProblem 404 for an unknown link, 410 for an expired one. */
  async record(token: string, submission: FeedbackSubmission): Promise<string> {
    const hash = hashOf(token);
    const link = await this.#db
      .selectFrom('slipway_tracing.feedback_tokens')
      .select(['run_id', 'key', 'expires_at'])
      .where('token_hash', '=', hash)
      .executeTakeFirst();
    if (link === undefined) throw new HttpProblem(404, 'This feedback link is not known.');
    if (link.expires_at.getTime() <= Date.now())
      throw new HttpProblem(410, 'This feedback link has expired.');
    const said = {
      score: submission.score ?? null,
      value: json(submission.value),
      comment: submission.comment ?? null,
      correction: json(submission.correction),
      metadata: json(submission.metadata),
    };
    const isEmpty = Object.values(said).every((value) => value === null);
    await this.#db
      .insertInto('slipway_tracing.feedback')
      .values({ token_hash: hash, run_id: link.run_id, key: link.key, ...said })
      .onConflict((conflict) => {
        const same = conflict.column('token_hash');
        return isEmpty ? same.doNothing() : same.doUpdateSet({ ...said, updated_at: sql<Date>`now()` });
      })
      .execute();
    return link.key;
  }

  /**
   * The feedback on a run, oldest first. A tenant gets it only if the tracing project of the run's deployment is the
   * tenant's. The project exists as long as its feedback, longer than the deployment.
   */
  async feedbackOf(runId: string, reader: FeedbackReader) {
    const rows = await this.#db
      .selectFrom('slipway_tracing.feedback')
      .selectAll()
      .where('run_id', '=', runId)
      .where('tenantId' in reader ? isOfTenant(reader.tenantId) : isOfDeployment(reader.deploymentId))
      .orderBy('created_at')
      .orderBy('key')
      .execute();
    return rows.map(answered);
  }

  /** The tracing projects of a tenant, oldest first. */
  async projectsOf(tenantId: string, { name, limit, offset }: TracingProjectsQuery) {
    const projects = this.#db as unknown as Kysely<Schema>;
    return projects
      .selectFrom('tracing_projects')
      .select(['id', 'name', 'tenant_id', 'created_at as start_time'])
      .where('tenant_id', '=', tenantId)
      .$if(name !== undefined, (query) => query.where('name', '=', name ?? ''))
      .orderBy('created_at')
      .orderBy('id')
      .limit(limit)
      .offset(offset)
      .execute();
  }

  /** The feedback of a tenant's tracing projects, newest first. */
  async listFeedback(tenantId: string, query: FeedbackListQuery) {
    const { session, key, has_score: hasScore, min_created_at: from, max_created_at: until } = query;
    const rows = await this.#db
      .selectFrom('slipway_tracing.feedback')
      .selectAll()
      .where(isOfTenant(tenantId, session))
      .$if(key !== undefined, (rest) => rest.where('key', 'in', key ?? []))
      .$if(hasScore !== undefined, (rest) => rest.where('score', hasScore === true ? 'is not' : 'is', null))
      .$if(from !== undefined, (rest) => rest.where('created_at', '>=', new Date(from ?? '')))
      .$if(until !== undefined, (rest) => rest.where('created_at', '<=', new Date(until ?? '')))
      .orderBy('created_at', 'desc')
      .orderBy('id')
      .limit(query.limit)
      .offset(query.offset)
      .execute();
    return rows.map(answered);
  }
}

/** A row as it is answered, without its link. */
function answered({ token_hash: _, ...row }: Selectable<FeedbackTable>) {
  return row;
}

/** Whether feedback came through a deployment's link, in SQL that has the feedback. */
function isOfDeployment(deploymentId: string): RawBuilder<boolean> {
  return sql<boolean>`exists (
    select 1 from slipway_tracing.feedback_tokens as tokens
    where tokens.token_hash = slipway_tracing.feedback.token_hash and tokens.deployment_id = ${deploymentId})`;
}

/**
 * Whether feedback belongs to a tenant's tracing project, in SQL that has the feedback.
 * @param projects - the ids of the projects. Default: all of the tenant's.
 */
function isOfTenant(tenantId: string, projects?: readonly string[]): RawBuilder<boolean> {
  const chosen = projects === undefined ? sql`` : sql` and projects.id::text in (${sql.join(projects)})`;
  return sql<boolean>`exists (
    select 1 from slipway_tracing.feedback_tokens as tokens
    join tracing_projects as projects on projects.deployment_id::text = tokens.deployment_id
    where tokens.token_hash = slipway_tracing.feedback.token_hash and projects.tenant_id = ${tenantId}${chosen})`;
}

function hashOf(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}

function json(value: unknown): string | null {
  return value === undefined || value === null ? null : JSON.stringify(value);
}

/** The migrations of the tables. Never edit a released one: add the next. */
const MIGRATIONS: readonly Migration[] = [
  {
    name: '001 the first release',
    sql: [
      'create schema if not exists slipway_tracing',
      `create table slipway_tracing.feedback_tokens (
        token_hash text primary key,
        run_id uuid not null,
        key text not null,
        deployment_id text,
        project_name text,
        created_at timestamptz not null default now(),
        expires_at timestamptz not null
      )`,
      `create table slipway_tracing.feedback (
        id uuid primary key default gen_random_uuid(),
        token_hash text not null unique,
        run_id uuid not null,
        key text not null,
        score double precision,
        value json,
        comment text,
        correction json,
        metadata json,
        created_at timestamptz not null default now(),
        updated_at timestamptz not null default now()
      )`,
      'create index feedback_of_run on slipway_tracing.feedback (run_id)',
      // A role of a deployment sees its rows alone.
      ...rowsOf('slipway_tracing.feedback_tokens', `deployment_id = ${DEPLOYMENT_OF_ROLE}`),
      ...rowsOf(
        'slipway_tracing.feedback',
        `exists (select 1 from slipway_tracing.feedback_tokens t
          where t.token_hash = feedback.token_hash and t.deployment_id = ${DEPLOYMENT_OF_ROLE})`,
      ),
    ],
  },
];

/**
 * Creates a deployment's tracing project under the deployment's name (contract 000, "What the service does"), in the
 * transaction that creates both. Decision: its name is unique within the tenant, like the deployment's. Returns the
 * project's id.
 * @throws Postgres' error of a unique index if the tenant has a tracing project of that name.
 */
export async function createTracingProject(
  db: Kysely<Schema>,
  { tenantId, name, deploymentId }: { tenantId: string; name: string; deploymentId: string },
): Promise<string> {
  const id = randomUUID();
  const row = { id, tenant_id: tenantId, name, deployment_id: deploymentId, created_at: new Date() };
  await db.insertInto('tracing_projects').values(row).execute();
  return id;
}

/**
 * Deletes the tracing project of a deployment, with its feedback and links. With `only`, if that SQL condition holds.
 * Returns whether there was one.
 */
export async function deleteTracingProject(
  db: Kysely<Schema>,
  deploymentId: string,
  only: RawBuilder<boolean> = sql`true`,
): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom('tracing_projects')
    .where('deployment_id', '=', deploymentId)
    .where(only)
    .executeTakeFirst();
  if (numDeletedRows === 0n) return false;
  if (!(await tableExists(db, 'slipway_tracing.feedback'))) return true;
  await sql`
    with links as (delete from slipway_tracing.feedback_tokens where deployment_id = ${deploymentId} returning token_hash)
    delete from slipway_tracing.feedback using links where feedback.token_hash = links.token_hash`.execute(
    db,
  );
  return true;
}

/** Removes links that expired long ago without feedback. Until then they answer 410, then 404. */
export async function removeExpiredLinks(db: Kysely<Schema>): Promise<void> {
  if (!(await tableExists(db, 'slipway_tracing.feedback'))) return;
  await sql`
    delete from slipway_tracing.feedback_tokens t
    where expires_at < now() - ${EXPIRED_KEPT_SECONDS} * interval '1 second'
      and not exists (select 1 from slipway_tracing.feedback f where f.token_hash = t.token_hash)`.execute(
    db,
  );
}
