import { setTimeout } from 'node:timers/promises';

import type { Progress } from '../../domain/release/release.ts';
import type { TargetSpec } from '../../domain/target/targetSpec.ts';
import { newestBuildLines } from '../../inspection/deployment/newestBuildLines.ts';
import type { CommandContext } from '../context.ts';

const LOOK_MS = 2_000;

/**
 * Reads the newest lines of the build every other second, beside what follows the release, so that a control plane that
 * is slow to answer delays nothing else.
 *
 * @param latest - where the release stands.
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
