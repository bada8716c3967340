import type { ColumnType, JSONColumnType } from 'kysely';

type Json<T> = ColumnType<T, string, string>;
type Timestamp = ColumnType<Date, Date | undefined, Date>;

/** What one version of an assistant holds. */
interface AssistantVersionsTable {
  deployment_id: string;
  assistant_id: string;
  version: number;
  graph_id: string;
  name: string;
  description: string | null;
  config: Json<Record<string, unknown>>;
  context: Json<Record<string, unknown>>;
  metadata: JSONColumnType<Record<string, unknown>>;
  created_at: Timestamp;
}

/** An assistant that somebody made: which of its versions counts. */
interface AssistantsTable {
  deployment_id: string;
  assistant_id: string;
  version: number;
  created_at: Timestamp;
  updated_at: Timestamp;
}

/** The tables of assistants. */
export interface AssistantTables {
  'slipway_agent.assistants': AssistantsTable;
  'slipway_agent.assistant_versions': AssistantVersionsTable;
}
