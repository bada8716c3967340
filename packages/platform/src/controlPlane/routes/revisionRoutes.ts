import { Hono } from 'hono';

import { DeploymentPath } from '@slipway/contract/controlPlane/deployment';
import { RevisionPath, RevisionsQuery } from '@slipway/contract/controlPlane/revision';
import { callerOf } from '../../access/caller.ts';
import { parsePath, parseQuery } from '../../http/parse.ts';
import type { Deployments } from '../deployments.ts';
import type { Revisions } from '../revisions.ts';
import type { OriginOf } from './origin.ts';

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
