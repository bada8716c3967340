import type { Migration } from '../migrate.ts';

/** Who changed what. */
export const AUDIT: Migration = {
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
