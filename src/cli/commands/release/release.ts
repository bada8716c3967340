import { loadConfig } from '../../../config/loadConfig.ts';
import { SlipwayError } from '../../../domain/errors.ts';
import type { CommandContext } from '../../context.ts';
import { onInterruption } from '../../interruption.ts';
import { openTemporal } from '../../openTemporal.ts';
import { printProblems } from '../lint/problemLines.ts';
import { releaseTarget } from './releaseTarget.ts';

/** The options of `slipway release [TARGET]`. */
interface ReleaseOptions {
  /** The file. Default: `slipway.yaml` in the working folder or a parent. */
  readonly config?: string;
  readonly reason?: string;
  readonly overrideHold?: boolean;
  /** Refuse a source that contains a suspected secret. */
  readonly strict?: boolean;
  /** Release in spite of a freeze; needs a reason. */
  readonly overrideFreeze?: boolean;
  /** Ctrl-C asks the release to abort, instead of leaving it. */
  readonly abortOnInterrupt?: boolean;
  readonly wait: boolean;
  /** Milliseconds. */
  readonly timeout: number;
}

/**
 * `slipway release [TARGET]`: packs the source, sends it to the target, and follows the release to its end.
 *
 * @returns the exit code.
 * @throws SlipwayError as `releaseTarget` does, and SLIPWAY_CONFIG_….
 */
export async function runReleaseCommand(
  context: CommandContext,
  target: string | undefined,
  options: ReleaseOptions,
): Promise<number> {
  const config = await loadConfig(options.config);
  printProblems(context.output, config.warnings, 'note');
  const interruption = onInterruption();
  const temporal = await openTemporal(context);
  try {
    const { exitCode } = await releaseTarget(
      context,
      temporal,
      {
        config,
        target,
        reason: options.reason,
        overrideHold: options.overrideHold ?? false,
        strict: options.strict ?? false,
        overrideFreeze: options.overrideFreeze ?? false,
        wait: options.wait,
        timeoutMs: options.timeout,
        abortOnInterrupt: options.abortOnInterrupt ?? false,
      },
      interruption.signal,
    );
    return exitCode;
  } catch (error) {
    // After Ctrl-C, any unexpected error is a consequence of the interruption.
    if (interruption.signal.aborted && !(error instanceof SlipwayError)) return interrupted(context);
    throw error;
  } finally {
    interruption.release();
    await temporal.close();
  }
}

function interrupted({ output }: CommandContext): number {
  output.event({
    event: 'error',
    code: 'SLIPWAY_USAGE',
    message: 'stopped; nothing was started',
    place: null,
    hint: null,
    exitCode: 1,
  });
  output.note('stopped; nothing was started');
  return 1;
}
