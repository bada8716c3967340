import { Hono } from 'hono';
import type { Logger } from 'pino';

import type { Access } from '../../access/access.ts';
import { accessRoutes } from '../../access/accessRoutes.ts';
import { auditChanges } from '../../access/auditChanges.ts';
import { requireCaller } from '../../access/requireCaller.ts';
import { requireScope } from '../../access/requireScope.ts';
import { limitBody } from '../../http/bodyLimit.ts';
import type { Deployments } from '../deployments.ts';
import type { Integrations } from '../integrations.ts';
import type { Listeners } from '../listeners.ts';
import type { LogFollowing } from '../logFollowing.ts';
import type { PublicResources } from '../publicResources.ts';
import type { RevisionLogs } from '../revisionLogs.ts';
import type { Revisions } from '../revisions.ts';
import type { SecretsRotation } from '../secretsRotation.ts';
import type { Uploads } from '../uploads.ts';
import { deploymentRoutes } from './deploymentRoutes.ts';
import { integrationRoutes } from './integrationRoutes.ts';
import { listenerRoutes } from './listenerRoutes.ts';
import { logRoutes } from './logRoutes.ts';
import type { OriginOf } from './origin.ts';
import { revisionRoutes } from './revisionRoutes.ts';
import { secretsRoutes } from './secretsRoutes.ts';
import { uploadUrlRoutes } from './uploadRoutes.ts';
import { type SpokenVocabulary, vocabularyEdge } from './vocabularyEdge.ts';

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
