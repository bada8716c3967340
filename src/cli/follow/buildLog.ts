import { setTimeout } from 'node:timers/promises';

import { removeSecrets } from '../../clients/removeSecrets.ts';
import { knownSecrets } from '../../config/secretReference.ts';
import { SlipwayError } from '../../domain/errors.ts';
import type { Progress } from '../../domain/release/release.ts';
import type { TargetSpec } from '../../domain/target/targetSpec.ts';
import { logEnd } from '../commands/logs/revisionLog.ts';
import { withControlPlane } from '../commands/target/targetAccess.ts';
import type { CommandContext } from '../context.ts';

const BUILD_LINES = 5;
const LOOK_MS = 2_000;

/**
 * The newest lines of the build of a revision that a release waits for, without the target's secrets that this process
 * has; none if they cannot be read from here.
 */
export async function newestBuildLines(
  context: CommandContext,
  spec: TargetSpec,
  { steps, deploymentId, revisionId }: Progress,
  signal?: AbortSignal,
): Promise<readonly string[]> {
  // A restore follows another revision than the one that the release made.
  const waits = steps.some(
    ({ step, status, restoring }) => step === 'deployed' && status === 'running' && !restoring,
  );
  if (!waits || deploymentId === null || revisionId === null) return [];
  try {
    const { lines } = await withControlPlane(context, spec, (client) =>
      logEnd(client, { deploymentId, revisionId }, 'build', BUILD_LINES, { signal }),
    );
    const secrets = knownSecrets(spec, context.environment);
    return lines.map(({ message }) => removeSecrets(message, secrets));
  } catch (error) {
    // Whether the control plane answers at all is said by the step that waits.
    if (error instanceof SlipwayError) return [];
    throw error;
  }
}

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
