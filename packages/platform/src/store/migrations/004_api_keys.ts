import type { Migration } from '../migrate.ts';

/** API keys. */
export const API_KEYS: Migration = {
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
