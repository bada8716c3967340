import { type ContainerOwner, ofPlatformArguments } from './containerLabels.ts';
import type { Docker } from './dockerCommand.ts';

/**
 * Removes the containers that earlier processes of a platform have left running: one that was killed takes none along.
 *
 * @returns how many there were; undefined where the engine did not answer.
 */
export async function removeLeftContainers(
  docker: Docker,
  owner: Pick<ContainerOwner, 'platform' | 'process'>,
): Promise<number | undefined> {
  const { code, stdout } = await docker({ args: ['ps', '--all', ...ofPlatformArguments(owner.platform)] });
  if (code !== 0) return undefined;
  const left = stdout.map((line) => line.split(' ')).filter(([, process]) => process !== owner.process);
  const ids = left.flatMap(([id]) => (id === undefined ? [] : [id]));
  if (ids.length > 0) await docker({ args: ['rm', '--force', '--volumes', ...ids] });
  return ids.length;
}
