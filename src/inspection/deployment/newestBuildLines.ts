import { removeSecrets } from '../../clients/removeSecrets.ts';
import { knownSecrets } from '../../config/secretReference.ts';
import { SlipwayError } from '../../domain/errors.ts';
import type { Progress } from '../../domain/release/release.ts';
import type { TargetSpec } from '../../domain/target/targetSpec.ts';
import { type Machine, withControlPlane } from './deploymentAccess.ts';
import { logEnd } from './revisionLog.ts';

const BUILD_LINES = 5;

/** The newest lines of the build that a release waits for, without the secrets that this process knows. */
export async function newestBuildLines(
  machine: Machine,
  spec: TargetSpec,
  { steps, deploymentId, revisionId }: Progress,
  signal?: AbortSignal,
): Promise<readonly string[]> {
  // A restore follows a revision other than the release's own.
  const waits = steps.some(
    ({ step, status, restoring }) => step === 'deployed' && status === 'running' && !restoring,
  );
  if (!waits || deploymentId === null || revisionId === null) return [];
  try {
    const { lines } = await withControlPlane(machine, spec, (client) =>
      logEnd(client, { deploymentId, revisionId }, 'build', BUILD_LINES, { signal }),
    );
    const secrets = knownSecrets(spec, machine.environment);
    return lines.map(({ message }) => removeSecrets(message, secrets));
  } catch (error) {
    // The waiting step reports whether the control plane answers.
    if (error instanceof SlipwayError) return [];
    throw error;
  }
}
