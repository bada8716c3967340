import type { ReceiverSpec } from '../../../domain/notify/receiver.ts';
import { type Git, sourceRepository } from '../../provenance.ts';

/**
 * The receivers of a release, with the repository in those on GitHub that the file names none for. Git is asked only where
 * one of them needs it.
 */
export async function notifyOf(
  receivers: readonly ReceiverSpec[],
  environment: Readonly<Record<string, string | undefined>>,
  git: Git,
): Promise<readonly ReceiverSpec[]> {
  if (!receivers.some(lacksRepository)) return receivers;
  const repository = await sourceRepository(environment, git);
  if (repository === undefined) return receivers;
  return receivers.map((receiver) => (lacksRepository(receiver) ? { ...receiver, repository } : receiver));
}

function lacksRepository(receiver: ReceiverSpec): boolean {
  const { kind } = receiver;
  return (kind === 'github_deployment' || kind === 'github_status') && receiver.repository === undefined;
}
