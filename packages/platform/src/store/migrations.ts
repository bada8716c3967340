import type { Migration } from './migrate.ts';

/** Deployments, revisions, uploads, tracing projects. */
const DEPLOYMENTS: Migration = {
  name: '001 deployments, revisions, uploads, tracing projects',
  sql: [
    `create table deployments (
      id uuid primary key,
      name text not null unique,
      source text not null,
      tenant_id uuid not null,
      status text not null,
      source_config jsonb not null,
      secret_references jsonb,
      sealed_secrets text not null,
      image_version text,
      latest_revision_id uuid,
      active_revision_id uuid,
      delete_tracing_project boolean not null default false,
      created_at timestamptz not null,
      updated_at timestamptz not null
    )`,
    `create index deployments_newest on deployments (created_at desc, id)`,
    `create sequence revision_requests`,
    `create table revisions (
      id uuid primary key,
      deployment_id uuid not null references deployments (id) on delete cascade,
      number bigint generated always as identity,
      status text not null,
      status_reason text,
      source text not null,
      source_config jsonb not null,
      source_revision_config jsonb not null,
      sealed_secrets text not null,
      requested bigint not null default nextval('revision_requests'),
      requested_by text not null,
      restarts integer not null default 0,
      built_at timestamptz,
      agent_dir text,
      agent_graph_config text,
      deployed_at timestamptz,
      created_at timestamptz not null,
      updated_at timestamptz not null
    )`,
    `create index revisions_newest on revisions (deployment_id, number desc)`,
    `create index revisions_unfinished on revisions (status) where status in
      ('CREATING', 'QUEUED', 'AWAITING_BUILD', 'BUILDING', 'AWAITING_DEPLOY', 'DEPLOYING')`,
    `create table revision_transitions (
      id bigint generated always as identity primary key,
      revision_id uuid not null references revisions (id) on delete cascade,
      from_status text,
      to_status text not null,
      reason text,
      at timestamptz not null
    )`,
    `create index revision_transitions_of on revision_transitions (revision_id, id)`,
    `create table revision_logs (
      id bigint generated always as identity primary key,
      revision_id uuid not null references revisions (id) on delete cascade,
      stage text not null,
      line text not null,
      at timestamptz not null
    )`,
    `create index revision_logs_of on revision_logs (revision_id, id)`,
    `create table uploads (
      object_path text primary key,
      deployment_id uuid not null references deployments (id) on delete cascade,
      created_at timestamptz not null,
      uploaded_at timestamptz,
      size bigint,
      sha256 text
    )`,
    `create index uploads_of on uploads (deployment_id)`,
    `create table tracing_projects (
      id uuid primary key,
      name text not null unique,
      deployment_id uuid references deployments (id) on delete set null,
      created_at timestamptz not null
    )`,
  ],
};

/** Integrations with hosts of git repositories, and the pushes that these hosts reported. */
const INTEGRATIONS: Migration = {
  name: '002 integrations',
  sql: [
    `create table integrations (
      id uuid primary key,
      tenant_id uuid not null,
      name text not null,
      url_prefix text not null,
      username text not null,
      credential text,
      webhook_secret text,
      created_at timestamptz not null,
      unique (tenant_id, name)
    )`,
    `create table push_deliveries (
      integration_id uuid not null references integrations (id) on delete cascade,
      delivery_id text not null,
      answer jsonb not null,
      at timestamptz not null,
      primary key (integration_id, delivery_id)
    )`,
    `create index push_deliveries_by_age on push_deliveries (at)`,
  ],
};

/** Listeners: what deploys to somebody's own compute. */
const LISTENERS: Migration = {
  name: '003 listeners',
  sql: [
    `create table listeners (
      id uuid primary key,
      tenant_id uuid not null,
      version text,
      compute_type text not null,
      compute_id text not null,
      compute_config jsonb not null,
      created_at timestamptz not null,
      updated_at timestamptz not null,
      unique (tenant_id, compute_id)
    )`,
    `create index listeners_newest on listeners (created_at desc, id)`,
  ],
};

/**
 * Names are unique per tenant, of deployments and of tracing projects, and lists go by tenant. A tracing project keeps
 * the id of its deployment when that is deleted: it tells whose the feedback is.
 */
const TENANTS: Migration = {
  name: '004 names are unique per tenant',
  sql: [
    'alter table deployments drop constraint deployments_name_key',
    'create unique index deployments_name on deployments (tenant_id, name)',
    'drop index deployments_newest',
    'create index deployments_newest on deployments (tenant_id, created_at desc, id)',
    'alter table tracing_projects drop constraint tracing_projects_name_key',
    'alter table tracing_projects add column tenant_id uuid',
    'alter table tracing_projects drop constraint tracing_projects_deployment_id_fkey',
    'create index tracing_projects_of on tracing_projects (deployment_id)',
    // Those whose deployment is gone belong to the only tenant that there was.
    `update tracing_projects set tenant_id = coalesce(
      (select tenant_id from deployments where deployments.id = deployment_id),
      '51195ba7-0000-4000-8000-000000000001')`,
    'alter table tracing_projects alter column tenant_id set not null',
    'create unique index tracing_projects_name on tracing_projects (tenant_id, name)',
  ],
};

/** API keys. */
const API_KEYS: Migration = {
  name: '004 API keys',
  sql: [
    `create table api_keys (
      id uuid primary key,
      name text not null,
      prefix text not null,
      key_hash text not null unique,
      scope text not null,
      tenant_ids uuid[] not null,
      created_by text not null,
      created_at timestamptz not null,
      expires_at timestamptz,
      revoked_at timestamptz,
      last_used_at timestamptz
    )`,
    'create index api_keys_newest on api_keys (created_at desc, id)',
  ],
};

/** Who changed what. */
const AUDIT: Migration = {
  name: '004 audit',
  sql: [
    `create table audit_entries (
      id bigint generated always as identity primary key,
      at timestamptz not null,
      tenant_id uuid not null,
      key_id text not null,
      key_name text not null,
      operation text not null,
      resources jsonb not null,
      changed jsonb not null,
      outcome text not null,
      status integer,
      address text,
      user_agent text
    )`,
    'create index audit_entries_of on audit_entries (tenant_id, id desc)',
    'create index audit_entries_at on audit_entries (at)',
  ],
};

/** The vocabulary that a deployment or a listener was made in. */
const VOCABULARY: Migration = {
  name: '005 vocabulary',
  sql: [
    `alter table deployments add column vocabulary text not null default 'contract'`,
    `create index deployments_made_in_public on deployments (id) where vocabulary = 'public'`,
    `alter table listeners add column vocabulary text not null default 'contract'`,
  ],
};

/** The keys under which deployments were created, with what was answered. */
const IDEMPOTENCY: Migration = {
  name: '007 idempotency keys',
  sql: [
    `create table idempotency_keys (
      tenant_id uuid not null,
      key text not null,
      fingerprint text not null,
      answer jsonb not null,
      created_at timestamptz not null,
      primary key (tenant_id, key)
    )`,
    `create index idempotency_keys_oldest on idempotency_keys (created_at)`,
  ],
};

/** The id that a database shares with the home that it belongs to: one row at most. */
const INSTANCE: Migration = {
  name: '008 instance',
  sql: [
    `create table platform_instance (
      only_row boolean primary key default true check (only_row),
      id uuid not null
    )`,
  ],
};

/** The control plane's tables, step by step. A step that was released is never edited: add the next one. */
export const CONTROL_PLANE_MIGRATIONS: readonly Migration[] = [
  DEPLOYMENTS,
  INTEGRATIONS,
  LISTENERS,
  TENANTS,
  API_KEYS,
  AUDIT,
  VOCABULARY,
  IDEMPOTENCY,
  INSTANCE,
];
