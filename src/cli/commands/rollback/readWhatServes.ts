import { SlipwayError } from '../../../domain/errors.ts';
import type { TargetSpec } from '../../../domain/target/targetSpec.ts';
import type { CommandContext } from '../../context.ts';
import { findDeployment, withControlPlane } from '../target/targetAccess.ts';

/** A person does not wait longer for it: the worker reads it otherwise. */
const READ_MS = 2_000;

/**
 * The active revision, so that the target knows what the person wants to leave; `undefined` where there is none, no key
 * to read it with, or no answer in time.
 */
export async function readWhatServes(
  context: CommandContext,
  target: TargetSpec,
): Promise<string | undefined> {
  const signal = AbortSignal.timeout(READ_MS);
  try {
    return await withControlPlane(context, target, async (client) => {
      const { active_revision_id: active } = await findDeployment(client, target, { signal });
      return active ?? undefined;
    });
  } catch (error) {
    if (error instanceof SlipwayError) return undefined;
    throw error;
  }
}
