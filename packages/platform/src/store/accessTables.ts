import type { ColumnType, Generated, JSONColumnType } from 'kysely';

import type { AuditOutcome, Scope } from '@slipway/contract/controlPlane/access';

type Time = ColumnType<Date, Date, Date>;
type OptionalTime = ColumnType<Date | null, Date | null | undefined, Date | null>;

/** An API key. */
export interface ApiKeysTable {
  id: string;
  name: string;
  /** How the key begins. */
  prefix: string;
  /** SHA-256 of the key, in hexadecimal. */
  key_hash: string;
  scope: Scope;
  tenant_ids: string[];
  /** The id of the key that made it, or `operator`. */
  created_by: string;
  created_at: Time;
  expires_at: OptionalTime;
  revoked_at: OptionalTime;
  last_used_at: OptionalTime;
}

/** One change that was asked for. */
interface AuditEntriesTable {
  id: Generated<string>;
  at: Time;
  tenant_id: string;
  key_id: string;
  key_name: string;
  operation: string;
  resources: JSONColumnType<Record<string, string>>;
  changed: JSONColumnType<string[]>;
  outcome: AuditOutcome;
  status: number | null;
  address: string | null;
  user_agent: string | null;
}

/** The tables of who may do what, and of who did. */
export interface AccessTables {
  api_keys: ApiKeysTable;
  audit_entries: AuditEntriesTable;
}
