import type { Migration } from '../../../store/migrate.ts';

/** Assistants that somebody made of a graph, and their versions. */
export const ASSISTANTS: Migration = {
  name: '003 assistants and their versions',
  sql: [
    `create table slipway_agent.assistants (
      deployment_id text not null,
      assistant_id uuid not null,
      version integer not null,
      created_at timestamptz not null default now(),
      updated_at timestamptz not null default now(),
      primary key (deployment_id, assistant_id)
    )`,
    `create table slipway_agent.assistant_versions (
      deployment_id text not null,
      assistant_id uuid not null,
      version integer not null,
      graph_id text not null,
      name text not null,
      description text,
      config json not null,
      context json not null,
      metadata jsonb not null,
      created_at timestamptz not null default now(),
      primary key (deployment_id, assistant_id, version),
      foreign key (deployment_id, assistant_id)
        references slipway_agent.assistants (deployment_id, assistant_id) on delete cascade
    )`,
  ],
};
