import type { Migration } from '../../../store/migrate.ts';

/** The long-term store. Namespaces sort by their bytes, so that those with one beginning lie together in the index. */
export const STORE_ITEMS: Migration = {
  name: '005 items of the long-term store',
  sql: [
    `CREATE TABLE slipway_agent.store_items (
      deployment_id text NOT NULL,
      namespace text[] COLLATE "C" NOT NULL,
      key text COLLATE "C" NOT NULL,
      value jsonb NOT NULL,
      created_at timestamptz NOT NULL DEFAULT now(),
      updated_at timestamptz NOT NULL DEFAULT now(),
      ttl_minutes double precision,
      expires_at timestamptz,
      PRIMARY KEY (deployment_id, namespace, key)
    )`,
    `CREATE INDEX store_items_to_forget ON slipway_agent.store_items (deployment_id, expires_at)
      WHERE expires_at IS NOT NULL`,
  ],
};
