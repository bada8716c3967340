import { loadConfig } from '../config/loadConfig.ts';
import { targetWorkflowId } from '../domain/targetSpec.ts';
import { SlipwayError } from '../domain/errors.ts';
import type { TemporalConnection } from '../temporal/connection.ts';
import { rollBack } from '../temporal/targetClient.ts';
import type { CommandContext } from './context.ts';
import { followInCi } from './ci/followInCi.ts';
import { onInterruption } from './interruption.ts';
import { openTemporal } from './openTemporal.ts';
import { artifactStoreOf } from './release/artifactOf.ts';
import { gitIn, whoAsks } from './release/provenance.ts';
import { breakGlass } from './rollback/breakGlass.ts';
import { recordedRevisions } from './rollback/recordedRevisions.ts';
import { chooseTargetSpec } from './targetAccess.ts';

/** The options of `slipway rollback [TARGET]`. */
export interface RollbackOptions {
  readonly config?: string;
  readonly reason?: string;
  /** The revision. Default: the newest verified one from before the active one. */
  readonly to?: string;
  /** Without Temporal. */
  readonly breakGlass?: boolean;
  readonly wait: boolean;
  /** Milliseconds. */
  readonly timeout: number;
}

/** Nothing was done: exit code of a rollback that the target had no use for. */
const NOT_DONE = 4;

/**
 * `slipway rollback [TARGET]`: puts an earlier verified revision back, before everything that runs or waits on the
 * target, and holds the target. `--break-glass` does it without Temporal.
 *
 * @returns the exit code.
 * @throws SlipwayError before anything is started.
 */
export async function runRollbackCommand(
  context: CommandContext,
  wanted: string | undefined,
  options: RollbackOptions,
): Promise<number> {
  const { config, folder } = await loadConfig(options.config);
  const { name, spec } = await chooseTargetSpec(context, config, wanted);
  const requestedBy = await whoAsks(context.environment, gitIn(folder), options.reason);
  const interruption = onInterruption();
  try {
    if (options.breakGlass === true) {
      const verified = await recordedRevisions(artifactStoreOf({ config, folder }, context), name);
      const order = { target: spec, to: options.to, requestedBy, verified, timeoutMs: options.timeout };
      return await breakGlass(context, order, interruption.signal);
    }
    const temporal = await connectOrSayHow(context, name);
    try {
      const { who, from, reason } = requestedBy;
      const taken = await rollBack(temporal, targetWorkflowId(spec), {
        who,
        from,
        ...(reason === undefined ? {} : { reason }),
        ...(options.to === undefined ? {} : { to: options.to }),
      });
      const { output } = context;
      const { requestId, disposition, via } = taken;
      output.event({ event: 'submitted', requestId, disposition, reason: taken.reason, via, target: name });
      const answered = `rollback of ${output.style.strong(name)}: ${disposition}, ${taken.reason}`;
      if (options.wait && disposition !== 'ignored') output.tell(answered);
      else output.say(answered);
      if (via === 'signal') {
        output.note(
          output.style.warn(
            `if no worker comes back: slipway rollback ${name} --break-glass, without Temporal`,
          ),
        );
      }
      if (disposition === 'ignored') {
        output.event({
          event: 'ended',
          releaseId: null,
          outcome: 'rejected',
          reason: taken.reason,
          exitCode: NOT_DONE,
          workflowUrl: null,
          result: null,
          row: null,
        });
        return NOT_DONE;
      }
      if (!options.wait) return 0;
      const { exitCode } = await followInCi(
        context,
        temporal,
        {
          id: requestId,
          asked: 'rollback',
          targetName: name,
          workflowId: targetWorkflowId(spec),
          timeoutMs: options.timeout,
        },
        interruption.signal,
      );
      output.say(`"${name}" is on hold: it takes no release until "slipway unhold ${name}"`);
      return exitCode;
    } finally {
      await temporal.close();
    }
  } finally {
    interruption.release();
  }
}

/** Connects; where Temporal is away, the way without it is named. */
async function connectOrSayHow(context: CommandContext, target: string): Promise<TemporalConnection> {
  try {
    return await openTemporal(context);
  } catch (error) {
    if (!(error instanceof SlipwayError) || error.code !== 'SLIPWAY_TEMPORAL_UNREACHABLE') throw error;
    throw new SlipwayError(error.code, error.message, {
      ...(error.place === undefined ? {} : { place: error.place }),
      hint: `without Temporal: slipway rollback ${target} --break-glass --reason "…"`,
      cause: error,
    });
  }
}
