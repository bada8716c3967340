import type { Migration } from '../migrate.ts';

/** Listeners: what deploys to somebody's own compute. */
export const LISTENERS: Migration = {
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
