import { CONTROL_PLANE_ENDPOINTS as ENDPOINTS } from '@slipway/contract/controlPlane/endpoints';
import {
  BuildLogsRequest,
  LineId,
  type LogStage,
  type RevisionLogPage,
  RevisionLogsHeaders,
} from '@slipway/contract/controlPlane/logs';
import { z } from 'zod';

import { type Access, type Credentials, credentialsOf } from '../../access/access.ts';
import type { Caller } from '../../access/caller.ts';
import { parseHeaders } from '../../http/parse.ts';
import { HttpProblem } from '../../http/problem.ts';
import { eventStreamResponse } from '../../http/serverSentEvents.ts';
import type { LogFollowing } from '../logFollowing.ts';
import { type LogPage, revisionLogLine, type RevisionLogs } from '../revisionLogs.ts';
import type { Revisions } from '../revisions.ts';
import type { ServeCaller } from './deploymentRoutes.ts';

export function serveLogs(
  serve: ServeCaller,
  options: { access: Access; revisions: Revisions; logs: RevisionLogs; logFollowing: LogFollowing },
): void {
  const { access, revisions, logs, logFollowing } = options;
  // `build_logs` returns all lines of a revision, from its build to its agent's last line, so that one request shows
  // why it failed. `deploy_logs` returns only the agent's lines.
  for (const [endpoint, stage] of [
    [ENDPOINTS.getBuildLogs, undefined],
    [ENDPOINTS.getDeployLogs, 'deploy'],
  ] as const) {
    serve({ ...endpoint, request: LogsRequest }, async ({ caller, params, body }) => {
      await revisions.get(caller, params.project_id, params.revision_id);
      return readPage(logs, params.revision_id, postedPage(body, stage));
    });
  }
  serve(
    { ...ENDPOINTS.getProjectDeployLogs, request: LogsRequest },
    async ({ caller, params: { project_id: deploymentId }, body }) => {
      await revisions.list(caller, deploymentId, { limit: 1, offset: 0 });
      return readPage(logs, { deploymentId }, postedPage(body, 'deploy'));
    },
  );
  serve(ENDPOINTS.getRevisionLogs, async ({ caller, params, query }, c) => {
    await revisions.get(caller, params.deployment_id, params.revision_id);
    const { order, limit, offset, stage } = query;
    if (!query.follow) return readPage(logs, params.revision_id, { order, limit, after: offset, stage });
    const after = parseHeaders(RevisionLogsHeaders, c)['last-event-id'] ?? offset;
    const credentials = credentialsOf(c, access);
    const isAllowed = () => isStillAllowed(access, credentials, caller);
    const lines = logFollowing.follow(params.revision_id, { after, stage, isAllowed });
    return eventStreamResponse(c, lines, { onDisconnect: () => undefined });
  });
}

/** Whether the credentials of a long request are still valid, and for the same tenant. */
async function isStillAllowed(access: Access, credentials: Credentials, caller: Caller): Promise<boolean> {
  try {
    return (await access.authenticate(credentials)).tenantId === caller.tenantId;
  } catch (error) {
    if (error instanceof HttpProblem) return false;
    throw error;
  }
}

const LogsRequest = BuildLogsRequest.extend({
  // The next_offset of an earlier page: its last line's id.
  offset: z.union([LineId, z.int().min(0)]).nullish(),
});

function postedPage(request: z.infer<typeof LogsRequest>, stage: LogStage | undefined): LogPage {
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
