import type { Migration } from '../migrate.ts';

/** The vocabulary that a deployment or a listener was made in. */
export const VOCABULARY: Migration = {
  name: '005 vocabulary',
  sql: [
    `alter table deployments add column vocabulary text not null default 'contract'`,
    `create index deployments_made_in_public on deployments (id) where vocabulary = 'public'`,
    `alter table listeners add column vocabulary text not null default 'contract'`,
  ],
};
