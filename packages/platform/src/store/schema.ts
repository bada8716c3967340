import type { AuditOutcome, Scope } from '@slipway/contract/controlPlane/access';
import type { Vocabulary } from '@slipway/contract/controlPlane/vocabulary';
import type { ColumnType, Generated, JSONColumnType } from 'kysely';

import type { RevisionStatus } from '../controlPlane/revisionStates.ts';

/** A point in time: a `Date` when read; a `Date` when written. */
type Time = ColumnType<Date, Date, Date>;
type OptionalTime = ColumnType<Date | null, Date | null | undefined, Date | null>;
/** JSON: an object when read, its text when written. */
type Json = JSONColumnType<Record<string, unknown>>;

/**
 * A deployment; names are unique per tenant. `source_config` and the secrets are the last requested ones; each
 * revision has its own copy. A deployment's `source_revision_config` is that of its latest revision.
 */
export interface DeploymentsTable {
  id: string;
  name: string;
  source: string;
  tenant_id: string;
  status: string;
  source_config: Json;
  secret_references: ColumnType<unknown[] | null, string | null, string | null>;
  /** The list of secrets, sealed with the deployment's id as context. */
  sealed_secrets: string;
  image_version: string | null;
  /** The vocabulary that it was created in, for answers to requests that do not determine one. */
  vocabulary: Generated<Vocabulary>;
  latest_revision_id: string | null;
  active_revision_id: string | null;
  delete_tracing_project: Generated<boolean>;
  created_at: Time;
  updated_at: Time;
}

/** A revision with its original configuration, which a redeploy restores. */
export interface RevisionsTable {
  id: string;
  deployment_id: string;
  /** The order of creation across all deployments. */
  number: Generated<string>;
  status: ColumnType<RevisionStatus, RevisionStatus, RevisionStatus>;
  /** The reason of its status, as text; null if there is none. */
  status_reason: string | null;
  source: string;
  source_config: Json;
  source_revision_config: Json;
  sealed_secrets: string;
  /** The order of its last request: creation and each redeploy take the next number. */
  requested: Generated<string>;
  /** The kind of its last request. */
  requested_by: 'create' | 'patch' | 'push' | 'redeploy';
  /** How many restarts of the platform found it unfinished since its last request. */
  restarts: Generated<number>;
  /** When it was last built successfully; null if never. */
  built_at: OptionalTime;
  /** The built agent's folder, relative to the home; null if it was never built or was removed. */
  agent_dir: string | null;
  /** The graph configuration file that the builder resolved, relative to `agent_dir`. */
  agent_graph_config: string | null;
  deployed_at: OptionalTime;
  created_at: Time;
  updated_at: Time;
}

interface RevisionTransitionsTable {
  id: Generated<string>;
  revision_id: string;
  /** Null for the first entry. */
  from_status: string | null;
  to_status: string;
  reason: string | null;
  at: Time;
}

interface RevisionLogsTable {
  id: Generated<string>;
  revision_id: string;
  /** The part of the revision's life that it is from. */
  stage: 'build' | 'deploy';
  line: string;
  at: Time;
}

/** An object path from an upload-url endpoint. */
interface UploadsTable {
  object_path: string;
  deployment_id: string;
  created_at: Time;
  /** When its upload was complete on disk; null before. */
  uploaded_at: OptionalTime;
  /** Bytes. */
  size: ColumnType<string | null, number | null | undefined, number | null>;
  sha256: string | null;
  /** SHA-256 of the token in its URL, in hexadecimal. */
  token_hash: string | null;
  /** The length that its URL was requested for, in bytes; null: any. */
  content_length: ColumnType<string | null, number | null, never>;
  /** The key that requested its URL. */
  key_id: Generated<string>;
  key_name: Generated<string>;
}

/** A tracing project. One is created with each deployment, under its name; names are unique per tenant. */
interface TracingProjectsTable {
  id: string;
  tenant_id: string;
  name: string;
  /** Its deployment, which may be deleted by now. */
  deployment_id: string | null;
  created_at: Time;
}

/** Listeners deploy to a customer's own compute. */
export interface ListenersTable {
  id: string;
  tenant_id: string;
  version: string | null;
  /** `cluster` or `docker`. */
  compute_type: string;
  /** The operator's name of the compute, unique per tenant. */
  compute_id: string;
  compute_config: Json;
  /** The vocabulary that it was created in; see {@link DeploymentsTable}. */
  vocabulary: Generated<Vocabulary>;
  created_at: Time;
  updated_at: Time;
}

/** An integration with a git host. */
export interface IntegrationsTable {
  id: string;
  tenant_id: string;
  /** Unique per tenant. */
  name: string;
  /** The beginning of its repositories' addresses. */
  url_prefix: string;
  username: string;
  /** A reference to the token or key: `env:NAME` or `file:/path`; null if none is needed. */
  credential: string | null;
  /** A reference to the secret that signs its pushes; null if it sends none. */
  webhook_secret: string | null;
  created_at: Time;
}

/** A webhook delivery, by its sender's id. */
interface PushDeliveriesTable {
  integration_id: string;
  delivery_id: string;
  answer: Json;
  at: Time;
}

/** An idempotency key of a created deployment, so that the same request does not create another. */
interface IdempotencyKeysTable {
  id: string;
  tenant_id: string;
  key: string;
  /** The digest of the request, sealed for its id. */
  sealed_fingerprint: string;
  /** The answer, without secrets. */
  answer: Json;
  created_at: Time;
}

/** The id that the database shares with its home: at most one row. */
interface PlatformInstanceTable {
  only_row: Generated<boolean>;
  id: string;
}

/** The control plane's tables. */
export interface Schema {
  deployments: DeploymentsTable;
  revisions: RevisionsTable;
  revision_transitions: RevisionTransitionsTable;
  revision_logs: RevisionLogsTable;
  uploads: UploadsTable;
  tracing_projects: TracingProjectsTable;
  listeners: ListenersTable;
  integrations: IntegrationsTable;
  push_deliveries: PushDeliveriesTable;
  idempotency_keys: IdempotencyKeysTable;
  platform_instance: PlatformInstanceTable;
  api_keys: ApiKeysTable;
  audit_entries: AuditEntriesTable;
}

export interface ApiKeysTable {
  id: string;
  name: string;
  prefix: string;
  /** SHA-256 of the key, in hexadecimal. */
  key_hash: string;
  scope: Scope;
  tenant_ids: string[];
  /** The id of the key that created it, or `operator`. */
  created_by: string;
  created_at: Time;
  expires_at: OptionalTime;
  revoked_at: OptionalTime;
  last_used_at: OptionalTime;
}

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
