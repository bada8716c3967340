import type { Migration } from './migrate.ts';

/** The migrations of the control plane's tables. Never edit a released one: add the next. */
export const CONTROL_PLANE_MIGRATIONS: readonly Migration[] = [
  {
    name: '001 the first release',
    sql: [
      `create table deployments (
        id uuid primary key,
        name text not null,
        source text not null,
        tenant_id uuid not null,
        status text not null,
        source_config jsonb not null,
        secret_references jsonb,
        sealed_secrets text not null,
        image_version text,
        vocabulary text not null default 'contract',
        latest_revision_id uuid,
        active_revision_id uuid,
        delete_tracing_project boolean not null default false,
        created_at timestamptz not null,
        updated_at timestamptz not null,
        unique (tenant_id, name)
      )`,
      `create index deployments_newest on deployments (tenant_id, created_at desc, id)`,
      `create index deployments_made_in_public on deployments (id) where vocabulary = 'public'`,
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
      // It keeps the id of a deleted deployment, because the id determines the owner of the feedback.
      `create table tracing_projects (
        id uuid primary key,
        tenant_id uuid not null,
        name text not null,
        deployment_id uuid,
        created_at timestamptz not null,
        unique (tenant_id, name)
      )`,
      `create index tracing_projects_of on tracing_projects (deployment_id)`,
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
      `create table listeners (
        id uuid primary key,
        tenant_id uuid not null,
        version text,
        compute_type text not null,
        compute_id text not null,
        compute_config jsonb not null,
        vocabulary text not null default 'contract',
        created_at timestamptz not null,
        updated_at timestamptz not null,
        unique (tenant_id, compute_id)
      )`,
      `create index listeners_newest on listeners (created_at desc, id)`,
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
      `create index api_keys_newest on api_keys (created_at desc, id)`,
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
      `create index audit_entries_of on audit_entries (tenant_id, id desc)`,
      `create index audit_entries_at on audit_entries (at)`,
      `create table idempotency_keys (
        tenant_id uuid not null,
        key text not null,
        fingerprint text not null,
        answer jsonb not null,
        created_at timestamptz not null,
        primary key (tenant_id, key)
      )`,
      `create index idempotency_keys_oldest on idempotency_keys (created_at)`,
      // The id that a database shares with its home.
      `create table platform_instance (
        only_row boolean primary key default true check (only_row),
        id uuid not null
      )`,
    ],
  },
  {
    // The URLs and fingerprints of before were made with the master key itself: they count no more.
    name: '002 upload URLs and idempotency keys that survive a rotation of the master key',
    sql: [
      `alter table uploads add column token_hash text unique, add column content_length bigint,
        add column key_id text not null default '', add column key_name text not null default ''`,
      'delete from idempotency_keys',
      'alter table idempotency_keys add column id uuid not null unique',
      'alter table idempotency_keys rename column fingerprint to sealed_fingerprint',
    ],
  },
];
