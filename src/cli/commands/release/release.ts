import { loadConfig } from '../../../config/loadConfig.ts';
import { SlipwayError } from '../../../domain/errors.ts';
import type { CommandContext } from '../../context.ts';
import { INTERRUPTED, interruptible } from '../../interruption.ts';
import { withTemporal } from '../../openTemporal.ts';
import { printProblems } from '../lint/problemLines.ts';
import { type ReleaseOrder, releaseTarget } from './releaseTarget.ts';

interface ReleaseOptions extends Pick<
  ReleaseOrder,
  'reason' | 'overrideHold' | 'strict' | 'overrideFreeze' | 'abortOnInterrupt' | 'wait' | 'timeout'
> {
  /** The file. Default: `slipway.yaml` in the working folder or a parent. */
  readonly config?: string;
}

/** `slipway release [TARGET]`: packs the source, sends it to the target, and follows the release to its end. */
export async function runReleaseCommand(
  context: CommandContext,
  target: string | undefined,
  options: ReleaseOptions,
): Promise<number> {
  const file = await loadConfig(options.config);
  printProblems(context.output, file.warnings, 'note');
  const order = { ...options, file, target };
  return interruptible(async (signal) => {
    try {
      return await withTemporal(context, async (temporal) => {
        const { exitCode } = await releaseTarget(context, temporal, order, signal);
        return exitCode;
      });
    } catch (error) {
      // After Ctrl-C, any unexpected error is a consequence of the interruption.
      if (signal.aborted && !(error instanceof SlipwayError)) return interrupted(context);
      throw error;
    }
  }, context.output);
}

function interrupted({ output }: CommandContext): number {
  const message = 'stopped; nothing was started';
  output.event({
    event: 'error',
    code: 'SLIPWAY_USAGE',
    message,
    place: null,
    hint: null,
    exitCode: INTERRUPTED,
  });
  output.note(message);
  return INTERRUPTED;
}
