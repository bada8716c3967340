import { z } from 'zod';

import { ours, publicApi } from '../endpoint.ts';
import { LOG_LIMIT } from '../limits.ts';
import { integer, oneOf, QueryBoolean, queryInteger, text, Timestamp } from '../scalars.ts';

/** The part of a revision's life that a line is from: its build, or its agent. */
export const LogStage = oneOf(['build', 'deploy']);
export type LogStage = z.infer<typeof LogStage>;

/** The id of a line: a counter over all revisions, as text. */
export const LineId = z.string().regex(/^\d{1,18}$/u, { error: 'Input should be the id of a line' });

/**
 * The query of `GET /v2/deployments/{deployment_id}/revisions/{revision_id}/logs`. The contract has no logs, and the
 * public API only pages of them ({@link BuildLogs}); this one can also be followed. `offset` is the id of a line: the
 * lines after it are returned. With `follow` the answer is an event stream, oldest first, `limit` is ignored, and the
 * header `Last-Event-ID` overrides `offset`.
 */
export const RevisionLogsQuery = z
  .object({
    stage: LogStage.optional(),
    order: oneOf(['asc', 'desc']).default('asc'),
    limit: queryInteger(LOG_LIMIT.min, LOG_LIMIT.max).default(LOG_LIMIT.default),
    offset: LineId.optional(),
    follow: QueryBoolean.default(false),
  })
  .refine(({ order, follow }) => order === 'asc' || !follow, {
    path: ['order'],
    error: 'A log is followed from its oldest line on: only asc goes with follow',
    params: { type: 'not_applicable' },
  });
export type RevisionLogsQuery = z.infer<typeof RevisionLogsQuery>;

/** The headers of the same request: where to resume a broken stream. An invalid id is ignored. */
export const RevisionLogsHeaders = z.object({ 'last-event-id': LineId.optional().catch(undefined) });

/** One line of a revision's log, and the data of a `log` event. */
export const RevisionLogLine = z.looseObject({
  id: LineId,
  stage: z.string(),
  message: z.string(),
  timestamp: z.string(),
});
export type RevisionLogLine = z.infer<typeof RevisionLogLine>;

/** A page of a revision's log; `next_offset` is null on the last page. */
export const RevisionLogPage = z.looseObject({
  logs: z.array(RevisionLogLine),
  next_offset: LineId.nullable(),
});
export type RevisionLogPage = z.infer<typeof RevisionLogPage>;

/** The data of a `status` event (sent first and at each change of the status) and of `end`, the last event. */
export const RevisionStatusEvent = z.looseObject({
  status: z.string(),
  status_message: z.string().nullable(),
});
export type RevisionStatusEvent = z.infer<typeof RevisionStatusEvent>;

/**
 * `POST /v1/projects/{project_id}/revisions/{revision_id}/build_logs`, of the public API (the
 * contract has no logs). The project's id is the deployment's. `offset` is the `next_offset` of the previous page: an
 * opaque text or a number. `query` is a text that the line contains, case-insensitive; `start_time` and `end_time`
 * bound the line's time, both inclusive. Decision: `level` is ignored on this platform, whose lines have none.
 */
export const BuildLogsRequest = z.object({
  order: oneOf(['asc', 'desc']).default('asc'),
  limit: integer(LOG_LIMIT.min, LOG_LIMIT.max).default(LOG_LIMIT.default),
  offset: z.union([text(), integer()]).nullish(),
  query: text().nullish(),
  start_time: Timestamp.nullish(),
  end_time: Timestamp.nullish(),
});
export type BuildLogsRequest = z.infer<typeof BuildLogsRequest>;

/** One line of a build's log. Plain texts are accepted too. */
const BuildLogLine = z.union([
  z.looseObject({ message: z.string(), timestamp: z.string().nullish(), level: z.string().nullish() }),
  z.string().transform((message): { message: string; timestamp?: string | null; level?: string | null } => ({
    message,
  })),
]);

/** A page of a build's log; `next_offset` is null or absent on the last page. */
export const BuildLogs = z.looseObject({
  logs: z.array(BuildLogLine),
  next_offset: z.union([z.string(), z.int()]).nullish(),
});

const PROJECT = '/v1/projects/{project_id}';

/** The logs of builds and agents. */
export const LOGS_ENDPOINTS = {
  getRevisionLogs: ours.get('/v2/deployments/{deployment_id}/revisions/{revision_id}/logs', RevisionLogPage, {
    query: RevisionLogsQuery,
    headers: RevisionLogsHeaders,
    streams: true,
  }),
  getBuildLogs: publicApi.post(`${PROJECT}/revisions/{revision_id}/build_logs`, BuildLogs, {
    request: BuildLogsRequest,
  }),
  getDeployLogs: ours.post(`${PROJECT}/revisions/{revision_id}/deploy_logs`, BuildLogs, {
    request: BuildLogsRequest,
  }),
  getProjectDeployLogs: publicApi.post(`${PROJECT}/deploy_logs`, BuildLogs, { request: BuildLogsRequest }),
} as const;
