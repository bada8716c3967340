import { readTargetRecord } from '../../../artifact/artifactStore.ts';
import { onSlipwayError } from '../../../domain/errors.ts';
import type { PastRelease } from '../../../domain/release/pastRelease.ts';
import type { Kept } from '../../../domain/target/targetState.ts';
import { recordedReleases } from '../../../inspection/release/findRelease.ts';
import { targetStart } from '../../../messages/target.ts';
import { WORKFLOW_TYPES } from '../../../messages/workflowTypes.ts';
import { callTemporal, type TemporalConnection } from '../../../temporal/client/connection.ts';
import type { CommandContext } from '../../context.ts';
import type { ChosenTarget } from './targetAccess.ts';

/**
 * A target that Temporal no longer has, because it was deleted, or terminated and its retention has passed. Its records
 * are in the artifact store.
 */
export const FORGOTTEN = 'Temporal no longer has this target';

/**
 * Sends a message to a target. A forgotten one starts again, and reads its state from the artifact store.
 * @param begin - called before a target that has never taken a release starts with the message. Default: it is refused.
 */
export function askTarget<Answer>(
  temporal: TemporalConnection,
  { spec, workflowId, openStore }: Omit<ChosenTarget, 'settings'>,
  ask: () => Promise<Answer>,
  begin?: (() => void) | false,
): Promise<Answer> {
  return ask().catch(
    onSlipwayError(async (neverReleased) => {
      const store = openStore();
      if ((await readTargetRecord(store, workflowId)) === undefined) {
        if (!begin) throw neverReleased;
        begin();
      }
      const { client, settings } = temporal;
      const start = targetStart(spec, store.url, settings.taskQueue);
      await callTemporal(temporal, () => client.workflow.start(WORKFLOW_TYPES.target, start));
      return ask();
    }, 'SLIPWAY_TARGET_NEVER_RELEASED'),
  );
}

/** The state of a forgotten target; `undefined` if it has never taken a release, or the store cannot be read. */
export function readForgotten(
  context: CommandContext,
  { workflowId, openStore }: Pick<ChosenTarget, 'workflowId' | 'openStore'>,
): Promise<Kept | undefined> {
  return ifReadable(context, async () => readTargetRecord(openStore(), workflowId));
}

/** The newest releases and rollbacks of a forgotten target, newest first. */
export async function releasesOfForgotten(
  context: CommandContext,
  target: Omit<ChosenTarget, 'settings' | 'spec'>,
  last: number,
): Promise<readonly PastRelease[]> {
  return (await ifReadable(context, () => recordedReleases(target.openStore(), target, last))) ?? [];
}

function ifReadable<T>({ output }: CommandContext, read: () => Promise<T>): Promise<T | undefined> {
  return read().catch(
    onSlipwayError(({ message }) => {
      output.note(`skipping the artifact store: ${message}`);
      return undefined;
    }),
  );
}
