import {
  DeploymentCreate,
  DeploymentCreateHeaders,
  DeploymentDeleteQuery,
  DeploymentPatch,
  DeploymentPath,
  DeploymentsDeleteQuery,
  DeploymentsQuery,
} from '@slipway/contract/controlPlane/deployment';
import { PublicDeploymentCreate, PublicDeploymentPatch } from '@slipway/contract/controlPlane/publicRequest';
import { RevisionPath, RevisionsQuery } from '@slipway/contract/controlPlane/revision';
import { type Context, Hono } from 'hono';

import { callerOf } from '../../access/caller.ts';
import { parseBody, parseHeaders, parsePath, parseQuery } from '../../http/parse.ts';
import type { Deployments } from '../deployments.ts';
import type { Revisions } from '../revisions.ts';
import { vocabularyOf } from './vocabularyEdge.ts';

/** Deployments: create, list, get, patch, delete one or several. */
export function deploymentRoutes({
  deployments,
  origin,
}: {
  deployments: Deployments;
  origin: OriginOf;
}): Hono {
  const app = new Hono();
  app.post('/v2/deployments', async (c) => {
    const vocabulary = vocabularyOf(c);
    const request = await parseBody(vocabulary === 'public' ? PublicDeploymentCreate : DeploymentCreate, c);
    const { 'idempotency-key': key } = parseHeaders(DeploymentCreateHeaders, c);
    const { deployment, replayed } = await deployments.create(
      callerOf(c),
      request,
      origin(c),
      vocabulary,
      key,
    );
    if (replayed) c.header('idempotent-replayed', 'true');
    return c.json(deployment, 201);
  });
  app.get('/v2/deployments', async (c) =>
    c.json(await deployments.list(callerOf(c), parseQuery(DeploymentsQuery, c), origin(c))),
  );
  app.get('/v2/deployments/:deployment_id', async (c) => {
    const { deployment_id: id } = parsePath(DeploymentPath, c);
    return c.json(await deployments.get(callerOf(c), id, origin(c)));
  });
  app.patch('/v2/deployments/:deployment_id', async (c) => {
    const { deployment_id: id } = parsePath(DeploymentPath, c);
    const request = await parseBody(
      vocabularyOf(c) === 'public' ? PublicDeploymentPatch : DeploymentPatch,
      c,
    );
    return c.json(await deployments.patch(callerOf(c), id, request, origin(c)));
  });
  app.delete('/v2/deployments/:deployment_id', async (c) => {
    const { deployment_id: id } = parsePath(DeploymentPath, c);
    const query = parseQuery(DeploymentDeleteQuery, c);
    await deployments.delete(callerOf(c), id, { deleteTracingProject: query.delete_tracing_project });
    return c.body(null, 204);
  });
  app.delete('/v2/deployments', async (c) => {
    const { deployment_ids: ids } = parseQuery(DeploymentsDeleteQuery, c);
    const answer = await deployments.deleteAll(callerOf(c), ids);
    return c.json(answer, answer.failed.length === 0 ? 200 : 207);
  });
  return app;
}

/** Revisions: list, get, redeploy, interrupt. */
export function revisionRoutes({
  deployments,
  revisions,
  origin,
}: {
  deployments: Deployments;
  revisions: Revisions;
  origin: OriginOf;
}): Hono {
  const app = new Hono();
  app.get('/v2/deployments/:deployment_id/revisions', async (c) => {
    const { deployment_id: id } = parsePath(DeploymentPath, c);
    return c.json(await revisions.list(callerOf(c), id, parseQuery(RevisionsQuery, c)));
  });
  app.get('/v2/deployments/:deployment_id/revisions/:revision_id', async (c) => {
    const path = parsePath(RevisionPath, c);
    return c.json(await revisions.get(callerOf(c), path.deployment_id, path.revision_id));
  });
  app.post('/v2/deployments/:deployment_id/revisions/:revision_id/redeploy', async (c) => {
    const path = parsePath(RevisionPath, c);
    await revisions.redeploy(callerOf(c), path.deployment_id, path.revision_id);
    return c.json(await deployments.get(callerOf(c), path.deployment_id, origin(c)));
  });
  app.post('/v2/deployments/:deployment_id/revisions/:revision_id/interrupt', async (c) => {
    const path = parsePath(RevisionPath, c);
    return c.json(await revisions.interrupt(callerOf(c), path.deployment_id, path.revision_id));
  });
  return app;
}

/** Under which the platform was reached, or is to be reached: without a slash at the end. */
export type OriginOf = (c: Context) => string;
