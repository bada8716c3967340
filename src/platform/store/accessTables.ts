import { type ColumnType } from 'kysely';

import { type Scope } from '../../contract/controlPlane/apiKey.ts';

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

/** The tables of who may do what. */
export interface AccessTables {
  api_keys: ApiKeysTable;
}
