import { Readable } from 'node:stream';

import { CONTROL_PLANE_ENDPOINTS as ENDPOINTS } from '@slipway/contract/controlPlane/endpoints';
import { Hono } from 'hono';
import type { Logger } from 'pino';

import { type Access, originOf, requireCaller } from '../../access/access.ts';
import { auditChanges, readAudit } from '../../access/audit.ts';
import { callerOf } from '../../access/caller.ts';
import { requireScope } from '../../access/scopes.ts';
import { limitBody } from '../../http/parse.ts';
import { HttpProblem } from '../../http/problem.ts';
import { serveOn } from '../../http/serve.ts';
import type { Deployments } from '../deployments.ts';
import type { Integrations } from '../integrations.ts';
import type { Listeners } from '../listeners.ts';
import type { LogFollowing } from '../logFollowing.ts';
import type { RevisionLogs } from '../revisionLogs.ts';
import type { Revisions } from '../revisions.ts';
import type { SecretsRotation } from '../secretsRotation.ts';
import type { Uploads } from '../uploads.ts';
import { serveDeployments } from './deploymentRoutes.ts';
import { serveLogs } from './logRoutes.ts';
import {
  type PublicResources,
  type SpokenVocabulary,
  translateVocabulary,
  vocabularyOf,
} from './vocabularyTranslation.ts';

/** The endpoints of contract 000 and of the public API (`contract/controlPlane/endpoints.ts`), as a Hono app. */
export function controlPlaneRoutes(options: {
  access: Access;
  log: Logger;
  secretsRotation: SecretsRotation;
  deployments: Deployments;
  revisions: Revisions;
  uploads: Uploads;
  logs: RevisionLogs;
  logFollowing: LogFollowing;
  listeners: Listeners;
  integrations: Integrations;
  publicResources: PublicResources;
  /** The platform's address from outside. Default: that of the request. */
  publicUrl?: string;
  /** Default: `both`. */
  vocabulary?: SpokenVocabulary;
  /** The largest request body, in bytes. Default: 1 MB. */
  bodyMaxBytes?: number;
}): Hono {
  const { access, listeners, integrations, secretsRotation } = options;
  const { keys, kysely } = access;
  const app = new Hono();
  const changes = auditChanges(kysely, options.log);
  for (const path of ['/v1/*', '/v2/*', '/deployments/*']) {
    app.use(
      path,
      requireCaller(access),
      requireScope,
      limitBody(options.bodyMaxBytes),
      changes,
      async (c, next) => {
        await next();
        // Answers contain secrets, and change between polls.
        c.header('cache-control', 'no-store');
      },
    );
  }
  const { vocabulary: acceptedVocabulary = 'both', publicResources } = options;
  if (acceptedVocabulary !== 'contract') {
    for (const path of ['/v2/deployments/*', '/v2/listeners/*'])
      app.use(path, translateVocabulary({ acceptedVocabulary, publicResources }));
  }

  const serve = serveOn(app, (c) => ({
    caller: callerOf(c),
    origin: options.publicUrl ?? new URL(c.req.url).origin,
  }));
  serveDeployments(serve, options);
  serveLogs(serve, options);

  serve(ENDPOINTS.createListener, ({ caller, body }, c) => listeners.create(caller, body, vocabularyOf(c)));
  serve(ENDPOINTS.listListeners, ({ caller, query }) => listeners.list(caller, query));
  serve(ENDPOINTS.getListener, ({ caller, params }) => listeners.get(caller, params.listener_id));
  serve(ENDPOINTS.patchListener, ({ caller, params, body }) =>
    listeners.patch(caller, params.listener_id, body),
  );
  serve(ENDPOINTS.deleteListener, ({ caller, params }) => listeners.delete(caller, params.listener_id));

  serve(ENDPOINTS.listIntegrations, ({ caller, origin }) => integrations.list(caller, origin));
  serve(ENDPOINTS.createIntegration, ({ caller, body, origin }) => integrations.create(caller, body, origin));
  serve(ENDPOINTS.deleteIntegration, ({ caller, params }) =>
    integrations.delete(caller, params.integration_id),
  );

  serve(ENDPOINTS.createApiKey, ({ caller, body }) => keys.create(caller, body));
  serve(ENDPOINTS.listApiKeys, ({ caller, query }) => keys.list(caller, query));
  serve(ENDPOINTS.revokeApiKey, ({ caller, params }) => keys.revoke(caller, params.key_id));
  serve(ENDPOINTS.listAudit, ({ caller, query }) => readAudit(kysely, caller, query));
  serve(ENDPOINTS.rotateSecrets, async () => ({ resealed: await secretsRotation.rotate() }));
  return app;
}

/** The upload route, the only path without an API key: its token authorizes the upload. */
export function uploadRoutes(uploads: Uploads, access: Pick<Access, 'addressOf'>): Hono {
  const app = new Hono();
  app.put('/uploads/:token', async (c) => {
    // A client that resumes sends a part, which must not become the whole source (RFC 9110, section 14.5).
    if (c.req.header('content-range') !== undefined) {
      throw new HttpProblem(400, 'Content-Range is not supported: send the whole archive.');
    }
    const length = c.req.header('content-length');
    // Canceling the body would end the connection before the client reads why.
    const body = c.req.raw.body?.values({ preventCancel: true }) ?? Readable.from([]);
    const declared = length === undefined ? undefined : Number(length);
    return c.json(await uploads.receive(c.req.param('token'), body, declared, originOf(c, access)));
  });
  return app;
}
