import {
  DeploymentCreate,
  DeploymentCreateHeaders,
  DeploymentPatch,
} from '@slipway/contract/controlPlane/deployment';
import { CONTROL_PLANE_ENDPOINTS as ENDPOINTS } from '@slipway/contract/controlPlane/endpoints';
import { PublicDeploymentCreate, PublicDeploymentPatch } from '@slipway/contract/controlPlane/vocabulary';

import type { Caller } from '../../access/caller.ts';
import { parseBody, parseHeaders } from '../../http/parse.ts';
import type { Serve } from '../../http/serve.ts';
import type { Deployments } from '../deployments.ts';
import type { Revisions } from '../revisions.ts';
import type { Uploads } from '../uploads.ts';
import { vocabularyOf } from './vocabularyTranslation.ts';

/** Serves an endpoint for its caller. `origin`: the platform's address, without a trailing slash. */
export type ServeCaller = Serve<{ readonly caller: Caller; readonly origin: string }>;

/** The routes of deployments, their revisions and upload URLs. */
export function serveDeployments(
  serve: ServeCaller,
  { deployments, revisions, uploads }: { deployments: Deployments; revisions: Revisions; uploads: Uploads },
): void {
  serve({ ...ENDPOINTS.createDeployment, request: undefined }, async ({ caller, origin }, c) => {
    const vocabulary = vocabularyOf(c);
    const body = await parseBody(vocabulary === 'public' ? PublicDeploymentCreate : DeploymentCreate, c);
    const { 'idempotency-key': key } = parseHeaders(DeploymentCreateHeaders, c);
    const { deployment, replayed } = await deployments.create(caller, body, origin, vocabulary, key);
    if (replayed) c.header('idempotent-replayed', 'true');
    return deployment;
  });
  serve(ENDPOINTS.listDeployments, ({ caller, query, origin }) => deployments.list(caller, query, origin));
  serve(ENDPOINTS.getDeployment, ({ caller, params, origin }) =>
    deployments.get(caller, params.deployment_id, origin),
  );
  serve({ ...ENDPOINTS.patchDeployment, request: undefined }, async ({ caller, params, origin }, c) => {
    const body = await parseBody(vocabularyOf(c) === 'public' ? PublicDeploymentPatch : DeploymentPatch, c);
    return deployments.patch(caller, params.deployment_id, body, origin);
  });
  serve(ENDPOINTS.deleteDeployment, ({ caller, params, query }) =>
    deployments.delete(caller, params.deployment_id, { deleteTracingProject: query.delete_tracing_project }),
  );
  serve(ENDPOINTS.deleteDeployments, async ({ caller, query }, c) => {
    const answer = await deployments.deleteAll(caller, query.deployment_ids);
    return c.json(answer, answer.failed.length === 0 ? 200 : 207);
  });

  serve(ENDPOINTS.listRevisions, ({ caller, params, query }) =>
    revisions.list(caller, params.deployment_id, query),
  );
  serve(ENDPOINTS.getRevision, ({ caller, params }) =>
    revisions.get(caller, params.deployment_id, params.revision_id),
  );
  serve(ENDPOINTS.redeployRevision, async ({ caller, params, origin }) => {
    await revisions.redeploy(caller, params.deployment_id, params.revision_id);
    return deployments.get(caller, params.deployment_id, origin);
  });
  serve(ENDPOINTS.interruptRevision, ({ caller, params }) =>
    revisions.interrupt(caller, params.deployment_id, params.revision_id),
  );

  for (const endpoint of [ENDPOINTS.createUploadUrl, ENDPOINTS.createUploadUrlVersioned]) {
    serve(endpoint, async ({ caller, params, body, origin }) => {
      const { content_length: length } = body;
      const { objectPath, token } = await uploads.offer(caller, params.deployment_id, length);
      return {
        upload_url: `${origin}/uploads/${token}`,
        object_path: objectPath,
        upload_headers: { 'content-type': 'application/gzip' },
      };
    });
  }
}
