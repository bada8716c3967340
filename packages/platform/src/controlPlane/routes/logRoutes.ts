import { type Context, Hono } from 'hono';
import { z } from 'zod';

import {
  BuildLogsPath,
  BuildLogsRequest,
  DeployLogsPath,
  type LogStage,
  type RevisionLogPage,
  RevisionLogsHeaders,
  RevisionLogsQuery,
} from '@slipway/contract/controlPlane/logs';
import { RevisionPath } from '@slipway/contract/controlPlane/revision';
import { callerOf } from '../../access/caller.ts';
import { eventStreamResponse } from '../../http/serverSentEvents.ts';
import { parseHeaders, parseOptionalBody, parsePath, parseQuery } from '../../http/parse.ts';
import { type LogFollowing, revisionLogLine } from '../logFollowing.ts';
import type { LogPage, RevisionLogs } from '../revisionLogs.ts';
import type { Revisions } from '../revisions.ts';

interface LogRoutesOptions {
  readonly revisions: Revisions;
  readonly logs: RevisionLogs;
  readonly logFollowing: LogFollowing;
}

/** What revisions wrote. */
export function logRoutes(options: LogRoutesOptions): Hono {
  const app = new Hono();
  // All that a revision wrote, from its build to its agent's last line: whoever asks why it failed needs no second
  // request. The lines of the agent alone are at deploy_logs.
  app.post('/v1/projects/:project_id/revisions/:revision_id/build_logs', (c) => revisionPage(c, options));
  app.post('/v1/projects/:project_id/revisions/:revision_id/deploy_logs', (c) =>
    revisionPage(c, options, 'deploy'),
  );
  app.post('/v1/projects/:project_id/deploy_logs', async (c) => {
    const { project_id: deploymentId } = parsePath(DeployLogsPath, c);
    await options.revisions.list(callerOf(c), deploymentId, { limit: 1, offset: 0 });
    return c.json(await readPage(options.logs, { deploymentId }, await postedPage(c, 'deploy')));
  });
  app.get('/v2/deployments/:deployment_id/revisions/:revision_id/logs', async (c) => {
    const path = parsePath(RevisionPath, c);
    const query = parseQuery(RevisionLogsQuery, c);
    await options.revisions.get(callerOf(c), path.deployment_id, path.revision_id);
    if (!query.follow) {
      const { order, limit, offset, stage } = query;
      const page = { order, limit, after: offset, stage };
      return c.json(await readPage(options.logs, path.revision_id, page));
    }
    const after = parseHeaders(RevisionLogsHeaders, c)['last-event-id'] ?? query.offset;
    const lines = options.logFollowing.follow(path.revision_id, { after, stage: query.stage });
    return eventStreamResponse(lines, { onDisconnect: () => undefined });
  });
  return app;
}

const LogsRequest = BuildLogsRequest.extend({
  // The next_offset of an earlier page: the id of its last line.
  offset: z.union([z.string().regex(/^\d{1,18}$/), z.int().min(0)]).nullish(),
});

async function revisionPage(c: Context, options: LogRoutesOptions, stage?: LogStage): Promise<Response> {
  const path = parsePath(BuildLogsPath, c);
  const page = await postedPage(c, stage);
  await options.revisions.get(callerOf(c), path.project_id, path.revision_id);
  return c.json(await readPage(options.logs, path.revision_id, page));
}

/** What the public relative's requests for logs ask for. */
async function postedPage(c: Context, stage: LogStage | undefined): Promise<LogPage> {
  const request = await parseOptionalBody(LogsRequest, c);
  const { order, limit, offset, query, start_time: start, end_time: end } = request;
  return {
    order,
    limit,
    after: offset == null ? undefined : String(offset),
    stage,
    contains: query ?? undefined,
    from: start == null ? undefined : new Date(start),
    until: end == null ? undefined : new Date(end),
  };
}

async function readPage(
  logs: RevisionLogs,
  of: Parameters<RevisionLogs['read']>[0],
  page: LogPage,
): Promise<RevisionLogPage> {
  await logs.flush();
  const lines = await logs.read(of, { ...page, limit: page.limit + 1 });
  const shown = lines.slice(0, page.limit);
  return {
    logs: shown.map(revisionLogLine),
    next_offset: lines.length > page.limit ? (shown.at(-1)?.id ?? null) : null,
  };
}
