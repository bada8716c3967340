import { z } from 'zod';

import { QueryBoolean } from '../scalars.ts';
import { type DisconnectMode, type RunCreate, StreamModes } from './run.ts';

/**
 * Whether a client's going away cancels the run, in every spelling: the contract's `cancel`, and what clients send
 * (`1`, `0`, `true`, `false`, `continue`).
 */
const CancelOnDisconnect = z.preprocess((value) => {
  if (typeof value !== 'string') return value;
  const word = value.toLowerCase();
  if (word === 'cancel') return true;
  return word === 'continue' ? false : value;
}, QueryBoolean);

/** The query of `GET …/runs/{run_id}/join` (contract 001, "Endpoints"). `on_disconnect` is taken as well. */
export const JoinQuery = z.object({
  cancel_on_disconnect: CancelOnDisconnect.default(false),
  on_disconnect: CancelOnDisconnect.optional(),
});
export type JoinQuery = z.infer<typeof JoinQuery>;

/** The query of `GET …/runs/{run_id}/stream`: as join, and the modes that the public client asks for. */
export const JoinStreamQuery = z.object({ ...JoinQuery.shape, stream_mode: StreamModes.optional() });
export type JoinStreamQuery = z.infer<typeof JoinStreamQuery>;

/** The query of the requests that create a run and follow it: `on_disconnect` "may be given in the query". */
export const FollowQuery = z.object({
  on_disconnect: CancelOnDisconnect.optional(),
  cancel_on_disconnect: CancelOnDisconnect.optional(),
});
export type FollowQuery = z.infer<typeof FollowQuery>;

/**
 * What a client's going away does to the run, from query and body together. Decision: the query wins where it says
 * anything, since it is the outermost; then the body; else the run goes on.
 */
export function disconnectMode(
  query: { on_disconnect?: boolean | undefined; cancel_on_disconnect?: boolean | undefined },
  body: Pick<RunCreate, 'on_disconnect'> = {},
): DisconnectMode {
  const asked = query.on_disconnect ?? query.cancel_on_disconnect;
  if (asked !== undefined) return asked ? 'cancel' : 'continue';
  return body.on_disconnect ?? 'continue';
}
