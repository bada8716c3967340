import { type Context, Hono } from 'hono';
import { z } from 'zod';

import { BuildLogsPath, BuildLogsRequest } from '../../../contract/controlPlane/buildLogs.ts';
import { RevisionPath } from '../../../contract/controlPlane/revision.ts';
import {
  type LogStage,
  type RevisionLogPage,
  RevisionLogsHeaders,
  RevisionLogsQuery,
} from '../../../contract/controlPlane/revisionLogs.ts';
import { callerOf } from '../../access/caller.ts';
import { eventStreamResponse } from '../../agentServer/http/streamResponse.ts';
import { parseHeaders, parseOptionalBody, parsePath, parseQuery } from '../../http/parse.ts';
import { type LogFollowing, revisionLogLine } from '../logFollowing.ts';
import { type RevisionLogs } from '../revisionLogs.ts';
import { type Revisions } from '../revisions.ts';

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
  app.post('/v1/projects/:project_id/revisions/:revision_id/build_logs', (c) => logPage(c, options));
  app.post('/v1/projects/:project_id/revisions/:revision_id/deploy_logs', (c) =>
    logPage(c, options, 'deploy'),
  );
  app.get('/v2/deployments/:deployment_id/revisions/:revision_id/logs', async (c) => {
    const path = parsePath(RevisionPath, c);
    const query = parseQuery(RevisionLogsQuery, c);
    await options.revisions.get(callerOf(c), path.deployment_id, path.revision_id);
    if (!query.follow) return c.json(await readPage(options.logs, path.revision_id, query));
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

async function logPage(c: Context, options: LogRoutesOptions, stage?: LogStage): Promise<Response> {
  const path = parsePath(BuildLogsPath, c);
  const { offset, ...request } = await parseOptionalBody(LogsRequest, c);
  await options.revisions.get(callerOf(c), path.project_id, path.revision_id);
  const after = offset == null ? undefined : String(offset);
  return c.json(await readPage(options.logs, path.revision_id, { ...request, offset: after, stage }));
}

async function readPage(
  logs: RevisionLogs,
  revisionId: string,
  query: Pick<RevisionLogsQuery, 'order' | 'limit' | 'offset' | 'stage'>,
): Promise<RevisionLogPage> {
  const { order, limit, offset: after, stage } = query;
  await logs.flush();
  const lines = await logs.read(revisionId, {
    order,
    limit: limit + 1,
    after,
    ...(stage === undefined ? {} : { stage }),
  });
  const page = lines.slice(0, limit);
  return {
    logs: page.map(revisionLogLine),
    next_offset: lines.length > limit ? (page.at(-1)?.id ?? null) : null,
  };
}
