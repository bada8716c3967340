import { setTimeout } from 'node:timers/promises';

import type { Progress } from '../../domain/release/release.ts';
import type { TargetSpec } from '../../domain/target/targetSpec.ts';
import { newestBuildLines } from '../../inspection/deployment/newestBuildLines.ts';
import type { CommandContext } from '../context.ts';

const LOOK_MS = 2_000;

/**
 * Reads the newest lines of the build log every 2 s. It runs beside the code that follows the release, so a slow
 * control plane does not delay it.
 * @param latest - the release's current progress.
 * @param signal - ends it.
 */
export async function tailBuildLog(
  context: CommandContext,
  spec: TargetSpec,
  latest: () => Progress | undefined,
  show: (lines: readonly string[]) => void,
  signal: AbortSignal,
): Promise<void> {
  const hasEnded = (): boolean => signal.aborted;
  while (!hasEnded()) {
    const progress = latest();
    const lines = progress === undefined ? [] : await newestBuildLines(context, spec, progress, signal);
    if (!hasEnded()) show(lines);
    await setTimeout(LOOK_MS, undefined, { signal }).catch(() => undefined);
  }
}
