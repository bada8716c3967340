import type { Migration } from '../migrate.ts';

/** Integrations with hosts of git repositories, and the pushes that they told of. */
export const INTEGRATIONS: Migration = {
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
