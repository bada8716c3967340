import type { Transaction } from 'kysely';

import type { SourceRevisionConfig } from '@slipway/contract/controlPlane/source';
import type { ValidationIssue } from '@slipway/contract/httpErrors';
import type { Schema } from '../store/schema.ts';

/**
 * What is wrong with the tarball that a request names (contract 000, "SourceRevisionConfig": "it must be a path obtained
 * from the upload-url endpoint, arbitrary paths are rejected"). The upload stays for as long as the transaction goes on.
 * Without a `deploymentId`, where the deployment is only being created, every path is refused: none has been obtained.
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
