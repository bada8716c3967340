import { z } from 'zod';

import { LOG_LIMIT } from '../limits.ts';
import { integer, oneOf, text, Timestamp, Uuid } from '../scalars.ts';

/**
 * `POST /v1/projects/{project_id}/revisions/{revision_id}/build_logs` (facts, "The control plane in the wild"; the
 * contract has no logs). The project's id is the deployment's. `offset` is the `next_offset` of the page before:
 * an opaque text or a number. `query` is a text that a line has in it, in any case; `start_time` and `end_time` bound
 * when it was written, both inclusive. Decision: `level` is not looked at on this platform, whose lines have none.
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

/** One line of a build's log. A service that answers bare texts is understood too. */
export const BuildLogLine = z.union([
  z.looseObject({ message: z.string(), timestamp: z.string().nullish(), level: z.string().nullish() }),
  z.string().transform((message): { message: string; timestamp?: string | null; level?: string | null } => ({
    message,
  })),
]);
export type BuildLogLine = z.infer<typeof BuildLogLine>;

/** A page of a build's log; `next_offset` is null or absent on the last one. */
export const BuildLogs = z.looseObject({
  logs: z.array(BuildLogLine),
  next_offset: z.union([z.string(), z.int()]).nullish(),
});
export type BuildLogs = z.infer<typeof BuildLogs>;

/** The path of a request for what all of a deployment's agents wrote (`POST /v1/projects/{project_id}/deploy_logs`). */
export const DeployLogsPath = z.object({ project_id: Uuid });
export type DeployLogsPath = z.infer<typeof DeployLogsPath>;

/** The path of a request for build logs. */
export const BuildLogsPath = z.object({ project_id: Uuid, revision_id: Uuid });
export type BuildLogsPath = z.infer<typeof BuildLogsPath>;
