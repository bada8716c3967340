import type { SourceConfig, SourceRevisionConfig } from '@slipway/contract/controlPlane/source';
import type { ValidationIssue } from '@slipway/contract/httpErrors';
import type { Transaction } from 'kysely';

import type { Caller } from '../access/caller.ts';
import { type GitUrl, isUnder, readGitUrl } from '../git/gitUrl.ts';
import type { Schema } from '../store/schema.ts';

/**
 * Validates the repository and integration of a new deployment; neither can change later. The integration is locked
 * until the transaction ends.
 *
 * Decision: a public repository needs no integration (contract 000, "SourceConfig": "every field is nullable") if its
 * address is https, or http on this machine. ssh needs a key, and the operator decides about repositories on the
 * platform's disk. So both need an integration whose prefix covers them.
 */
export async function checkRepository(
  trx: Transaction<Schema>,
  caller: Caller,
  requested: SourceConfig,
): Promise<ValidationIssue[]> {
  const { repo_url: address, integration_id: id } = requested;
  const issues: ValidationIssue[] = [];
  const reading = address == null ? undefined : readGitUrl(address);
  if (reading?.ok === false) issues.push(addressIssue(`The address ${reading.why}`, 'git_url'));
  const url = reading?.ok === true ? reading.url : undefined;
  if (id == null) return url === undefined ? issues : [...issues, ...withoutIntegration(url)];
  const integration = await trx
    .selectFrom('integrations')
    .select(['name', 'url_prefix'])
    .where('id', '=', id)
    .where('tenant_id', '=', caller.tenantId)
    .forShare()
    .executeTakeFirst();
  if (integration === undefined) {
    issues.push({
      loc: ['body', 'source_config', 'integration_id'],
      msg: 'Input should be an integration from the integration install endpoint',
      type: 'integration_unknown',
    });
  } else if (url !== undefined && !isUnderPrefix(integration.url_prefix, url)) {
    issues.push(
      addressIssue(
        `The integration '${integration.name}' is for addresses under ${integration.url_prefix}`,
        'outside_integration',
      ),
    );
  }
  return issues;
}

/** Whether an integration's prefix covers a repository. */
export function isUnderPrefix(prefix: string, url: GitUrl): boolean {
  const reading = readGitUrl(prefix);
  return reading.ok && isUnder(reading.url, url);
}

function withoutIntegration({ protocol }: GitUrl): ValidationIssue[] {
  if (protocol === 'https' || protocol === 'http') return [];
  return [
    addressIssue(
      protocol === 'ssh'
        ? 'An address for ssh needs an integration (integration_id) that has a key'
        : 'A repository on the disk of the platform needs an integration (integration_id) whose prefix covers it',
      'integration_required',
    ),
  ];
}

function addressIssue(msg: string, type: string): ValidationIssue {
  return { loc: ['body', 'source_config', 'repo_url'], msg, type };
}

/**
 * Validates the tarball of a request (contract 000, "SourceRevisionConfig": "it must be a path obtained from the
 * upload-url endpoint, arbitrary paths are rejected"). The upload is locked until the transaction ends. Without
 * `deploymentId` (the deployment is being created) every path is rejected, because none can have been obtained.
 */
export async function checkTarball(
  trx: Transaction<Schema>,
  requested: Pick<SourceRevisionConfig, 'source_tarball_path'> | null | undefined,
  deploymentId?: string,
): Promise<ValidationIssue[]> {
  const path = requested?.source_tarball_path;
  if (path == null) return [];
  const loc = ['body', 'source_revision_config', 'source_tarball_path'];
  if (deploymentId === undefined) {
    return [
      {
        loc,
        msg: 'Input should be null: create the deployment, upload to its upload-url endpoint, then PATCH the path',
        type: 'path_unknown',
      },
    ];
  }
  const upload = await trx
    .selectFrom('uploads')
    .select('uploaded_at')
    .where('object_path', '=', path)
    .where('deployment_id', '=', deploymentId)
    .forUpdate()
    .executeTakeFirst();
  if (upload === undefined) {
    return [
      {
        loc,
        msg: 'Input should be an object path from the upload-url endpoint of this deployment',
        type: 'path_unknown',
      },
    ];
  }
  if (upload.uploaded_at !== null) return [];
  return [{ loc, msg: 'Nothing has been uploaded to this object path yet', type: 'upload_missing' }];
}
