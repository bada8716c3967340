import type { AuditOutcome, Scope } from '@slipway/contract/controlPlane/access';
import type { Vocabulary } from '@slipway/contract/controlPlane/vocabulary';
import type { ColumnType, Generated, JSONColumnType } from 'kysely';

import type { RevisionStatus } from '../controlPlane/revisionStates.ts';

/** A point in time: a `Date` when read; a `Date` when written. */
type Time = ColumnType<Date, Date, Date>;
/** An optional point in time. */
type OptionalTime = ColumnType<Date | null, Date | null | undefined, Date | null>;
/** JSON kept as it came: an object when read, its text when written. */
type Json = JSONColumnType<Record<string, unknown>>;

/**
 * One deployment; names are unique per tenant. `source_config` and the secrets are what was asked for last; revisions hold their own copies, and
 * the `source_revision_config` of a deployment is that of its latest revision.
 */
export interface DeploymentsTable {
  id: string;
  name: string;
  source: string;
  tenant_id: string;
  status: string;
  source_config: Json;
  /** The array of secret references, or null. */
  secret_references: ColumnType<unknown[] | null, string | null, string | null>;
  /** The list of secrets, sealed with the deployment's id as context. */
  sealed_secrets: string;
  image_version: string | null;
  /** Whose names it was made in; what a request that names nothing is answered by. */
  vocabulary: Generated<Vocabulary>;
  latest_revision_id: string | null;
  active_revision_id: string | null;
  /** Whether the tracing project goes with the deployment when it is deleted. */
  delete_tracing_project: Generated<boolean>;
  created_at: Time;
  updated_at: Time;
}

/** One revision, with the configuration that it was created with: redeploying it brings all of that back. */
export interface RevisionsTable {
  id: string;
  deployment_id: string;
  /** The order of creation across all deployments. */
  number: Generated<string>;
  status: ColumnType<RevisionStatus, RevisionStatus, RevisionStatus>;
  /** Why it has that status, in words; null where there is nothing to say. */
  status_reason: string | null;
  source: string;
  source_config: Json;
  source_revision_config: Json;
  sealed_secrets: string;
  /** When this revision was last asked for, as a count: creation and each redeploy take the next one. */
  requested: Generated<string>;
  /** What asked for it last. */
  requested_by: 'create' | 'patch' | 'push' | 'redeploy';
  /** How often a restart of the platform found it half done since it was last asked for. */
  restarts: Generated<number>;
  /** When it was last built with success; null where it never was. */
  built_at: OptionalTime;
  /** Where the built agent is, relative to the home; null where it was never built, or removed again. */
  agent_dir: string | null;
  /** The graph configuration as the builder resolved it, relative to `agent_dir`. */
  agent_graph_config: string | null;
  deployed_at: OptionalTime;
  created_at: Time;
  updated_at: Time;
}

/** Every change of a revision's status. */
interface RevisionTransitionsTable {
  id: Generated<string>;
  revision_id: string;
  /** Null for the first one. */
  from_status: string | null;
  to_status: string;
  reason: string | null;
  at: Time;
}

/** What the builder and the agent of a revision wrote. */
interface RevisionLogsTable {
  id: Generated<string>;
  revision_id: string;
  /** Which part of the revision's life it is from. */
  stage: 'build' | 'deploy';
  line: string;
  at: Time;
}

/** One object path handed out by an upload-url endpoint. */
interface UploadsTable {
  object_path: string;
  deployment_id: string;
  created_at: Time;
  /** When its content was complete on disk; null before. */
  uploaded_at: OptionalTime;
  /** Bytes. */
  size: ColumnType<string | null, number | null | undefined, number | null>;
  sha256: string | null;
}

/** A tracing project. One is created with each deployment, under the same name; names are unique per tenant. */
interface TracingProjectsTable {
  id: string;
  tenant_id: string;
  name: string;
  /** The deployment it was created with, which may be deleted by now. */
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
  /** The operator's name of the compute; a tenant has it once. */
  compute_id: string;
  compute_config: Json;
  /** Whose names it was made in; see {@link DeploymentsTable}. */
  vocabulary: Generated<Vocabulary>;
  created_at: Time;
  updated_at: Time;
}

/** An integration with a host of git repositories. */
export interface IntegrationsTable {
  id: string;
  tenant_id: string;
  /** A tenant has it once. */
  name: string;
  /** What the addresses of its repositories begin with. */
  url_prefix: string;
  /** Goes with a token. */
  username: string;
  /** Where the token or the key is: `env:NAME` or `file:/path`; null where none is needed. */
  credential: string | null;
  /** Where the secret is that signs its pushes; null where it sends none. */
  webhook_secret: string | null;
  created_at: Time;
}

/** One delivery of a webhook, by the id that its sender gave it. */
interface PushDeliveriesTable {
  integration_id: string;
  delivery_id: string;
  /** What it was answered. */
  answer: Json;
  at: Time;
}

/** A key under which a deployment was created, so that the same request does not create it again. */
interface IdempotencyKeysTable {
  tenant_id: string;
  key: string;
  /** A keyed digest of the request. */
  fingerprint: string;
  /** What was answered, without the secrets. */
  answer: Json;
  created_at: Time;
}

/** The id that the database shares with its home: one row at most. */
interface PlatformInstanceTable {
  only_row: Generated<boolean>;
  id: string;
}

/** The control plane's tables. */
export interface Schema extends AccessTables {
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
}

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
interface AccessTables {
  api_keys: ApiKeysTable;
  audit_entries: AuditEntriesTable;
}
