import type { PreviewSummary } from './preview.ts';

/** Which previews make room for one more. */
export interface Room<P> {
  /** The oldest idle ones. */
  readonly remove: readonly P[];
  /** How many more would have to go, each of which has a release running. */
  readonly short: number;
}

/**
 * Chooses the previews that make room for one more. The one pushed to longest ago goes first; one whose release runs
 * never goes. One that is being removed makes room already.
 *
 * @param others - the previews of the same name, without the one that is wanted.
 * @param max - how many there may be, with the one that is wanted.
 */
export function makeRoom<P extends Pick<PreviewSummary, 'phase' | 'renewedAt'>>(
  others: readonly P[],
  max: number,
): Room<P> {
  const staying = others.filter(({ phase }) => phase === 'idle' || phase === 'releasing');
  const over = Math.max(staying.length + 1 - max, 0);
  const remove = staying
    .filter(({ phase }) => phase === 'idle')
    .sort((one, other) => Date.parse(one.renewedAt) - Date.parse(other.renewedAt))
    .slice(0, over);
  return { remove, short: over - remove.length };
}
