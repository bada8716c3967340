import { type Context, Hono } from 'hono';
import { z } from 'zod';

import { BuildLogsPath, BuildLogsRequest } from '../../../contract/controlPlane/buildLogs.ts';
import { callerOf } from '../../access/caller.ts';
import { parseOptionalBody, parsePath } from '../../http/parse.ts';
import { type LogStage, type RevisionLogs } from '../revisionLogs.ts';
import { type Revisions } from '../revisions.ts';

interface LogRoutesOptions {
  readonly revisions: Revisions;
  readonly logs: RevisionLogs;
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
  return app;
}

const LogsRequest = BuildLogsRequest.extend({
  // The next_offset of an earlier page: the id of its last line.
  offset: z.union([z.string().regex(/^\d{1,18}$/), z.int().min(0)]).nullish(),
});

async function logPage(c: Context, options: LogRoutesOptions, stage?: LogStage): Promise<Response> {
  const path = parsePath(BuildLogsPath, c);
  const { order, limit, offset } = await parseOptionalBody(LogsRequest, c);
  await options.revisions.get(callerOf(c), path.project_id, path.revision_id);
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
