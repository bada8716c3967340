import { setTimeout } from 'node:timers/promises';

import { z } from 'zod';

import type { ControlPlaneClient } from '../../../clients/controlPlane.ts';
import { ServiceError } from '../../../clients/serviceError.ts';
import { type LogLine, lineOf, type LogStage, type RevisionOf } from './revisionLog.ts';

const Line = z.looseObject({ id: z.string(), stage: z.string(), message: z.string(), timestamp: z.string() });

/** What a connection fails with that may be there again in a moment. */
const PASSING: readonly string[] = ['SLIPWAY_NO_ANSWER', 'SLIPWAY_UNREACHABLE', 'SLIPWAY_SERVICE_ERROR'];
const REOPEN_AFTER_MS = 1_000;

/**
 * The lines that a revision writes from now on, until no more can come. A stream that is cut off goes on after its last
 * line.
 *
 * @param after - the id of the last line that is known.
 * @param signal - ends it.
 * @throws SlipwayError where the control plane refuses.
 */
export async function* followLog(
  client: ControlPlaneClient,
  { deploymentId, revisionId }: RevisionOf,
  stage: LogStage | undefined,
  after: string | undefined,
  signal: AbortSignal,
): AsyncGenerator<LogLine, void> {
  for (let offset = after; !signal.aborted;) {
    try {
      const query = { stage, offset };
      for await (const { event, data } of await client.followRevisionLogs(deploymentId, revisionId, query, {
        signal,
      })) {
        if (event === 'end') return;
        if (event !== 'log') continue;
        const line = Line.parse(data);
        offset = line.id;
        yield lineOf(line);
      }
    } catch (error) {
      if (isAborted(signal)) return;
      if (!(error instanceof ServiceError) || !PASSING.includes(error.code)) throw error;
    }
    await setTimeout(REOPEN_AFTER_MS, undefined, { signal }).catch(() => undefined);
  }
}

/** Asked anew: it may have been aborted since it was last asked. */
function isAborted({ aborted }: AbortSignal): boolean {
  return aborted;
}
