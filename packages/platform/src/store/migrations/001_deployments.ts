import type { Migration } from '../migrate.ts';

/** Deployments, revisions, uploads, tracing projects. */
export const DEPLOYMENTS: Migration = {
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
