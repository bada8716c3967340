import { ApiKeyCreate, ApiKeyPath, ApiKeysQuery, AuditQuery } from '@slipway/contract/controlPlane/access';
import { IntegrationCreate, IntegrationPath } from '@slipway/contract/controlPlane/integration';
import { ListenerCreate, ListenerPatch, ListenerPath } from '@slipway/contract/controlPlane/listener';
import { PageQuery } from '@slipway/contract/scalars';
import { Hono } from 'hono';
import type { Logger } from 'pino';

import { type Access, requireCaller } from '../../access/access.ts';
import { auditChanges, readAudit } from '../../access/audit.ts';
import { callerOf } from '../../access/caller.ts';
import { requireScope } from '../../access/scopes.ts';
import { limitBody, parseBody, parsePath, parseQuery } from '../../http/parse.ts';
import type { Deployments } from '../deployments.ts';
import type { Integrations } from '../integrations.ts';
import type { Listeners } from '../listeners.ts';
import type { LogFollowing } from '../logFollowing.ts';
import type { RevisionLogs } from '../revisionLogs.ts';
import type { Revisions } from '../revisions.ts';
import type { SecretsRotation } from '../secretsRotation.ts';
import type { Uploads } from '../uploads.ts';
import { deploymentRoutes, type OriginOf, revisionRoutes } from './deploymentRoutes.ts';
import { logRoutes } from './logRoutes.ts';
import { uploadUrlRoutes } from './uploadRoutes.ts';
import {
  type PublicResources,
  type SpokenVocabulary,
  vocabularyEdge,
  vocabularyOf,
} from './vocabularyEdge.ts';

/** What the routes call. */
export interface ControlPlaneRoutesOptions {
  readonly access: Access;
  readonly log: Logger;
  readonly secretsRotation: SecretsRotation;
  readonly deployments: Deployments;
  readonly revisions: Revisions;
  readonly uploads: Uploads;
  readonly logs: RevisionLogs;
  readonly logFollowing: LogFollowing;
  readonly listeners: Listeners;
  readonly integrations: Integrations;
  /** Under which the platform is reached from outside. Default: as the request itself reached it. */
  readonly publicUrl?: string;
  /** Default: `both`. */
  readonly vocabulary?: SpokenVocabulary;
  readonly publicResources: PublicResources;
  /** The largest body of a request. Default: 1 MB. */
  readonly bodyMaxBytes?: number;
}

/** The endpoints of contract 000 and of its public relative (`contract/controlPlane/endpoints.ts`), as a Hono app. */
export function controlPlaneRoutes(options: ControlPlaneRoutesOptions): Hono {
  const { deployments, revisions, uploads, logs } = options;
  const origin: OriginOf = (c) => options.publicUrl ?? new URL(c.req.url).origin;
  const app = new Hono();
  const changes = auditChanges(options.access.kysely, options.log);
  const bodies = limitBody(options.bodyMaxBytes);

  for (const path of ['/v1/*', '/v2/*', '/deployments/*']) {
    app.use(path, requireCaller(options.access), requireScope(), bodies, changes, async (c, next) => {
      await next();
      // Answers hold secrets and what changes from one poll to the next.
      c.header('cache-control', 'no-store');
    });
  }
  const { vocabulary: spoken = 'both', publicResources: made } = options;
  if (spoken !== 'contract') {
    for (const path of ['/v2/deployments/*', '/v2/listeners/*'])
      app.use(path, vocabularyEdge({ spoken, made }));
  }
  app.route('/', deploymentRoutes({ deployments, origin }));
  app.route('/', revisionRoutes({ deployments, revisions, origin }));
  app.route('/', uploadUrlRoutes({ deployments, uploads, origin }));
  app.route('/', logRoutes({ revisions, logs, logFollowing: options.logFollowing }));
  app.route('/', listenerRoutes(options.listeners));
  app.route('/', integrationRoutes({ integrations: options.integrations, origin }));
  app.route('/', accessRoutes(options.access));
  app.route('/', secretsRoutes(options.secretsRotation));
  return app;
}

/** Integrations with hosts of git repositories: create, list, delete. */
function integrationRoutes({ integrations, origin }: { integrations: Integrations; origin: OriginOf }): Hono {
  const app = new Hono();
  const path = '/v1/integrations/github/install';
  app.get(path, async (c) => c.json(await integrations.list(callerOf(c), origin(c))));
  app.post(path, async (c) =>
    c.json(await integrations.create(callerOf(c), await parseBody(IntegrationCreate, c), origin(c)), 201),
  );
  app.delete(`${path}/:integration_id`, async (c) => {
    await integrations.delete(callerOf(c), parsePath(IntegrationPath, c).integration_id);
    return c.body(null, 204);
  });
  return app;
}

/** Listeners: create, list, get, patch, delete. */
function listenerRoutes(listeners: Listeners): Hono {
  const app = new Hono();
  app.post('/v2/listeners', async (c) => {
    const request = await parseBody(ListenerCreate, c);
    return c.json(await listeners.create(callerOf(c), request, vocabularyOf(c)), 201);
  });
  app.get('/v2/listeners', async (c) => c.json(await listeners.list(callerOf(c), parseQuery(PageQuery, c))));
  app.get('/v2/listeners/:listener_id', async (c) =>
    c.json(await listeners.get(callerOf(c), parsePath(ListenerPath, c).listener_id)),
  );
  app.patch('/v2/listeners/:listener_id', async (c) => {
    const { listener_id: id } = parsePath(ListenerPath, c);
    return c.json(await listeners.patch(callerOf(c), id, await parseBody(ListenerPatch, c)));
  });
  app.delete('/v2/listeners/:listener_id', async (c) => {
    await listeners.delete(callerOf(c), parsePath(ListenerPath, c).listener_id);
    return c.body(null, 204);
  });
  return app;
}

/** A new master key for the stored secrets. */
function secretsRoutes(rotation: SecretsRotation): Hono {
  const app = new Hono();
  app.post('/v1/secrets/rotation', async (c) => c.json({ resealed: await rotation.rotate() }));
  return app;
}

/** API keys: make, list, revoke; and what was recorded of changes. */
function accessRoutes({ keys, kysely }: Access): Hono {
  const app = new Hono();
  app.post('/v1/api-keys', async (c) =>
    c.json(await keys.create(callerOf(c), await parseBody(ApiKeyCreate, c)), 201),
  );
  app.get('/v1/api-keys', async (c) => c.json(await keys.list(callerOf(c), parseQuery(ApiKeysQuery, c))));
  app.delete('/v1/api-keys/:key_id', async (c) => {
    await keys.revoke(callerOf(c), parsePath(ApiKeyPath, c).key_id);
    return c.body(null, 204);
  });
  app.get('/v1/audit', async (c) => c.json(await readAudit(kysely, callerOf(c), parseQuery(AuditQuery, c))));
  return app;
}
