import type { Migration } from '../migrate.ts';

/** The keys under which deployments were created, with what was answered. */
export const IDEMPOTENCY: Migration = {
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
