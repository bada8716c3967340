import { readFile } from 'node:fs/promises';

import { packSource } from '../../src/artifact/pack.ts';
import { sourceFiles } from '../../src/artifact/sourceFiles.ts';
import { freshFetch } from './freshFetch.ts';
import { eventually, type Stack } from './stack.ts';
import { CREATES } from '../../packages/contract/test/controlPlane/requests.ts';

interface Deployment {
  readonly id: string;
  readonly latest_revision_id: string;
  readonly active_revision_id: string | null;
}

/**
 * Makes a deployment without Slipway.
 * @returns the deployment's id and its active revision.
 */
export async function deployByHand(
  stack: Stack,
  name: string,
  source: string,
): Promise<{ readonly deploymentId: string; readonly revisionId: string }> {
  const created = (await stack.call('POST', '/v2/deployments', {
    ...CREATES.internal_source,
    name,
  })) as Deployment;
  return { deploymentId: created.id, revisionId: await changeByHand(stack, created.id, source) };
}

/**
 * Changes a deployment's source without Slipway.
 * @returns the new revision, once it is active.
 */
export async function changeByHand(stack: Stack, deploymentId: string, source: string): Promise<string> {
  const revisionId = await patchByHand(stack, deploymentId, source);
  await eventually(async () => {
    const deployment = (await stack.call('GET', `/v2/deployments/${deploymentId}`)) as Deployment;
    if (deployment.active_revision_id !== revisionId)
      throw new Error(`${deploymentId} does not serve ${revisionId} yet`);
  }, 180_000);
  return revisionId;
}

/** Uploads a source and PATCHes the deployment to it. Returns the new revision without waiting for it. */
async function patchByHand(stack: Stack, deploymentId: string, source: string): Promise<string> {
  const entries = await sourceFiles(source, []);
  const packed = await packSource({ root: source, entries, directory: stack.folder });
  const upload = (await stack.call('POST', `/v2/deployments/${deploymentId}/upload-url`)) as {
    upload_url: string;
    object_path: string;
    upload_headers?: Record<string, string>;
  };
  const put = await freshFetch(upload.upload_url, {
    method: 'PUT',
    headers: { 'content-type': 'application/gzip', ...upload.upload_headers },
    body: await readFile(packed.file),
  });
  if (!put.ok) throw new Error(`the upload was answered ${put.status}`);
  const patched = (await stack.call('PATCH', `/v2/deployments/${deploymentId}`, {
    source_revision_config: { source_tarball_path: upload.object_path, graph_config_path: 'graph.json' },
  })) as Deployment;
  return patched.latest_revision_id;
}
