import type { Migration } from '../migrate.ts';
import { DEPLOYMENTS } from './001_deployments.ts';
import { INTEGRATIONS } from './002_integrations.ts';
import { LISTENERS } from './003_listeners.ts';
import { API_KEYS } from './004_api_keys.ts';
import { AUDIT } from './004_audit.ts';
import { TENANTS } from './004_tenants.ts';
import { VOCABULARY } from './005_vocabulary.ts';
import { IDEMPOTENCY } from './007_idempotency.ts';
import { INSTANCE } from './008_instance.ts';

/** The control plane's tables, step by step. A step that was released is never edited: add the next one. */
export const CONTROL_PLANE_MIGRATIONS: readonly Migration[] = [
  DEPLOYMENTS,
  INTEGRATIONS,
  LISTENERS,
  TENANTS,
  API_KEYS,
  AUDIT,
  VOCABULARY,
  IDEMPOTENCY,
  INSTANCE,
];
