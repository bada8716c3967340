import type { Migration } from '../migrate.ts';

/** The id that a database shares with the home that it belongs to: one row at most. */
export const INSTANCE: Migration = {
  name: '008 instance',
  sql: [
    `create table platform_instance (
      only_row boolean primary key default true check (only_row),
      id uuid not null
    )`,
  ],
};
