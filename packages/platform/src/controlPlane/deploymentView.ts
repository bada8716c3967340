import type { Selectable } from 'kysely';

import type { Deployment } from '@slipway/contract/controlPlane/deployment';
import { withResourceDefaults } from '@slipway/contract/controlPlane/resourceSpec';
import type { Revision } from '@slipway/contract/controlPlane/revision';
import type { AnsweredSecret, Secret } from '@slipway/contract/controlPlane/secret';
import { type Caller, permits } from '../access/caller.ts';
import type { RevisionsTable } from '../store/schema.ts';
import type { DeploymentWithConfig } from './deploymentRows.ts';

/**
 * A deployment as it is answered (contract 000, "Deployment"). `source_revision_config` is that of its latest revision
 * (rule 3). Secrets are answered as {@link shownSecrets} has them. `source_config.custom_url` is the gateway's address of the deployment; for `external_image`, where it is
 * settable, what was set goes first. `resource_spec` has the defaults of its table, computed anew for each answer.
 * @param origin Under which the platform is reached: `http://host:port`.
 */
export function deploymentView(
  row: DeploymentWithConfig,
  parts: { secrets: AnsweredSecret[]; origin: string },
): Deployment {
  const { custom_url: set, resource_spec: spec } = row.source_config;
  return {
    id: row.id,
    tenant_id: row.tenant_id,
    name: row.name,
    source: row.source,
    source_config: {
      ...row.source_config,
      ...(spec == null ? {} : { resource_spec: withResourceDefaults(spec) }),
      custom_url: typeof set === 'string' ? set : `${parts.origin}/agents/${row.id}`,
    },
    source_revision_config: row.latest_revision_config,
    secrets: parts.secrets,
    secret_references: row.secret_references as Deployment['secret_references'],
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
    status: row.status,
    latest_revision_id: row.latest_revision_id,
    active_revision_id: row.active_revision_id,
    image_version: row.image_version,
  };
}

/**
 * Secrets as a caller may see them. Whoever may set them sees their values, as the contract's `Secret` has it: what was
 * read can be sent back in a PATCH. Decision: a key that may only read sees the names alone, with null for a value,
 * which no request takes: nobody overwrites a secret with a row of stars.
 */
export function shownSecrets(caller: Caller, secrets: readonly Secret[]): AnsweredSecret[] {
  return secrets.map(({ name, value }) => ({ name, value: permits(caller, 'deploy') ? value : null }));
}

/** A revision as it is answered (contract 000, "Other resources"); `status_message` says why it has its status. */
export function revisionView(row: Selectable<RevisionsTable>): Revision {
  return {
    id: row.id,
    deployment_id: row.deployment_id,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
    status: row.status,
    status_message: row.status_reason,
    source: row.source,
    source_revision_config: row.source_revision_config,
  };
}
