import { Hono } from 'hono';

import { DeploymentPath } from '@slipway/contract/controlPlane/deployment';
import { UploadUrlRequest } from '@slipway/contract/controlPlane/uploadUrl';
import { callerOf, type Caller } from '../../access/caller.ts';
import { type Access, originOf } from '../../access/access.ts';
import { parseOptionalBody, parsePath } from '../../http/parse.ts';
import { HttpProblem } from '../../http/problem.ts';
import type { Deployments } from '../deployments.ts';
import type { Uploads } from '../uploads.ts';
import type { OriginOf } from './deploymentRoutes.ts';

/** Where an upload URL is asked for. */
export function uploadUrlRoutes({
  deployments,
  uploads,
  origin,
}: {
  deployments: Deployments;
  uploads: Uploads;
  origin: OriginOf;
}): Hono {
  const app = new Hono();
  // Contract 000 writes this path without a version; its public relative with one.
  for (const prefix of ['', '/v2']) {
    app.post(`${prefix}/deployments/:deployment_id/upload-url`, async (c) => {
      const { deployment_id: id } = parsePath(DeploymentPath, c);
      const { content_length: length } = await parseOptionalBody(UploadUrlRequest, c);
      await requireUploads(deployments, callerOf(c), id, origin(c));
      const { objectPath, token } = await uploads.offer(callerOf(c), id, length);
      return c.json({
        upload_url: `${origin(c)}/uploads/${token}`,
        object_path: objectPath,
        upload_headers: { 'content-type': 'application/gzip' },
      });
    });
  }
  return app;
}

/** The one path that takes no API key: the token in it is the permission. */
export function uploadRoutes(uploads: Uploads, access: Pick<Access, 'addressOf'>): Hono {
  const app = new Hono();
  app.put('/uploads/:token', async (c) => {
    const length = c.req.header('content-length');
    const body = c.req.raw.body ?? new ReadableStream<Uint8Array>({ start: (stream) => stream.close() });
    const declared = length === undefined ? undefined : Number(length);
    return c.json(await uploads.receive(c.req.param('token'), body, declared, originOf(c, access)));
  });
  return app;
}

async function requireUploads(
  deployments: Deployments,
  caller: Caller,
  id: string,
  origin: string,
): Promise<void> {
  const deployment = await deployments.get(caller, id, origin);
  if (deployment.source !== 'internal_source') {
    throw new HttpProblem(
      400,
      `Deployment ID ${id} has source ${deployment.source}, which takes no uploads.`,
    );
  }
  if (deployment.status === 'AWAITING_DELETE')
    throw new HttpProblem(400, `Deployment ID ${id} is being deleted.`);
}
