import { type Context, Hono } from 'hono';
import { z } from 'zod';

import { BuildLogsPath, BuildLogsRequest } from '../../contract/controlPlane/buildLogs.ts';
import {
  DeploymentCreate,
  DeploymentDeleteQuery,
  DeploymentPatch,
  DeploymentPath,
  DeploymentsQuery,
} from '../../contract/controlPlane/deployment.ts';
import { RevisionPath, RevisionsQuery } from '../../contract/controlPlane/revision.ts';
import { PageQuery } from '../../contract/pageQuery.ts';
import { requireApiKey } from '../http/apiKey.ts';
import { limitBody } from '../http/bodyLimit.ts';
import { parseBody, parseOptionalBody, parsePath, parseQuery } from '../http/parse.ts';
import { HttpProblem } from '../http/problem.ts';
import { type Deployments } from './deployments.ts';
import { type LogStage, type RevisionLogs } from './revisionLogs.ts';
import { type Revisions } from './revisions.ts';
import { type Uploads } from './uploads.ts';

/** What the routes call. */
export interface ControlPlaneRoutesOptions {
  readonly apiKey: string;
  readonly deployments: Deployments;
  readonly revisions: Revisions;
  readonly uploads: Uploads;
  readonly logs: RevisionLogs;
  /** Under which the platform is reached from outside. Default: as the request itself reached it. */
  readonly publicUrl?: string;
}

/** The endpoints of contract 000 and of its public relative (`contract/controlPlane/endpoints.ts`), as a Hono app. */
export function controlPlaneRoutes(options: ControlPlaneRoutesOptions): Hono {
  const { deployments, revisions, uploads } = options;
  const origin = (c: Context): string => options.publicUrl ?? new URL(c.req.url).origin;
  const app = new Hono();

  for (const path of ['/v1/*', '/v2/*', '/deployments/*']) {
    app.use(path, requireApiKey(options.apiKey), limitBody(), async (c, next) => {
      await next();
      // Answers hold secrets and what changes from one poll to the next.
      c.header('cache-control', 'no-store');
    });
  }

  app.post('/v2/deployments', async (c) =>
    c.json(await deployments.create(await parseBody(DeploymentCreate, c), origin(c)), 201),
  );
  app.get('/v2/deployments', async (c) =>
    c.json(await deployments.list(parseQuery(DeploymentsQuery, c), origin(c))),
  );
  app.get('/v2/deployments/:deployment_id', async (c) => {
    const { deployment_id: id } = parsePath(DeploymentPath, c);
    return c.json(await deployments.get(id, origin(c)));
  });
  app.patch('/v2/deployments/:deployment_id', async (c) => {
    const { deployment_id: id } = parsePath(DeploymentPath, c);
    return c.json(await deployments.patch(id, await parseBody(DeploymentPatch, c), origin(c)));
  });
  app.delete('/v2/deployments/:deployment_id', async (c) => {
    const { deployment_id: id } = parsePath(DeploymentPath, c);
    const query = parseQuery(DeploymentDeleteQuery, c);
    await deployments.delete(id, { deleteTracingProject: query.delete_tracing_project });
    return c.body(null, 204);
  });

  app.get('/v2/deployments/:deployment_id/revisions', async (c) => {
    const { deployment_id: id } = parsePath(DeploymentPath, c);
    return c.json(await revisions.list(id, parseQuery(RevisionsQuery, c)));
  });
  app.get('/v2/deployments/:deployment_id/revisions/:revision_id', async (c) => {
    const path = parsePath(RevisionPath, c);
    return c.json(await revisions.get(path.deployment_id, path.revision_id));
  });
  app.post('/v2/deployments/:deployment_id/revisions/:revision_id/redeploy', async (c) => {
    const path = parsePath(RevisionPath, c);
    await revisions.redeploy(path.deployment_id, path.revision_id);
    return c.json(await deployments.get(path.deployment_id, origin(c)));
  });

  // Contract 000 writes this path without a version; its public relative with one.
  for (const prefix of ['', '/v2']) {
    app.post(`${prefix}/deployments/:deployment_id/upload-url`, async (c) => {
      const { deployment_id: id } = parsePath(DeploymentPath, c);
      await requireUploads(deployments, id, origin(c));
      const { objectPath, token } = await uploads.offer(id);
      return c.json({
        upload_url: `${origin(c)}/uploads/${token}`,
        object_path: objectPath,
        upload_headers: { 'content-type': 'application/gzip' },
      });
    });
  }

  // All that a revision wrote, from its build to its agent's last line: whoever asks why it failed needs no second
  // request. The lines of the agent alone are at deploy_logs.
  app.post('/v1/projects/:project_id/revisions/:revision_id/build_logs', (c) => logPage(c, options));
  app.post('/v1/projects/:project_id/revisions/:revision_id/deploy_logs', (c) =>
    logPage(c, options, 'deploy'),
  );

  // Decision: there are no listeners and no integrations on a platform of one machine; the lists are empty.
  app.get('/v2/listeners', (c) => c.json({ resources: [], offset: parseQuery(PageQuery, c).offset }));
  app.get('/v1/integrations/github/install', (c) => c.json([]));
  return app;
}

/** The one path that takes no API key: the token in it is the permission. */
export function uploadRoutes(uploads: Uploads): Hono {
  const app = new Hono();
  app.put('/uploads/:token', async (c) => {
    const length = c.req.header('content-length');
    const body = c.req.raw.body ?? new ReadableStream<Uint8Array>({ start: (stream) => stream.close() });
    const declared = length === undefined ? undefined : Number(length);
    return c.json(await uploads.receive(c.req.param('token'), body, declared));
  });
  return app;
}

async function requireUploads(deployments: Deployments, id: string, origin: string): Promise<void> {
  const deployment = await deployments.get(id, origin);
  if (deployment.source !== 'internal_source') {
    throw new HttpProblem(
      400,
      `Deployment ID ${id} has source ${deployment.source}, which takes no uploads.`,
    );
  }
  if (deployment.status === 'AWAITING_DELETE')
    throw new HttpProblem(400, `Deployment ID ${id} is being deleted.`);
}

const LogsRequest = BuildLogsRequest.extend({
  // The next_offset of an earlier page: the id of its last line.
  offset: z.union([z.string().regex(/^\d{1,18}$/), z.int().min(0)]).nullish(),
});

async function logPage(c: Context, options: ControlPlaneRoutesOptions, stage?: LogStage): Promise<Response> {
  const path = parsePath(BuildLogsPath, c);
  const { order, limit, offset } = await parseOptionalBody(LogsRequest, c);
  await options.revisions.get(path.project_id, path.revision_id);
  await options.logs.flush();
  const lines = await options.logs.read(path.revision_id, {
    order,
    limit: limit + 1,
    after: offset == null ? undefined : String(offset),
    ...(stage === undefined ? {} : { stage }),
  });
  const page = lines.slice(0, limit);
  return c.json({
    logs: page.map(({ id, stage: from, line, at }) => ({
      id,
      stage: from,
      message: line,
      timestamp: at.toISOString(),
    })),
    next_offset: lines.length > limit ? (page.at(-1)?.id ?? null) : null,
  });
}
