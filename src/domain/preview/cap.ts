import type { PreviewSummary } from './preview.ts';

/** The previews to remove to make room for one more. */
export interface Room<P> {
  /** The oldest idle ones. */
  readonly remove: readonly P[];
  /** How many more would have to be removed, but have a release running. */
  readonly short: number;
}

/**
 * Chooses the previews to remove to make room for one. The one with the oldest push goes first. Previews with a running
 * release stay. A preview that is being removed does not count: a push makes it anew.
 * @param previews - those of the same name.
 * @param own - the workflow id of the one that is pushed to.
 * @param max - the most previews, with that one.
 */
export function makeRoom<
  P extends Pick<PreviewSummary, 'phase' | 'renewedAt'> & { readonly workflowId: string },
>(previews: readonly P[], own: string, max: number): Room<P> {
  const staying = previews.filter(({ phase }) => phase === 'idle' || phase === 'releasing');
  if (staying.some(({ workflowId }) => workflowId === own)) return { remove: [], short: 0 };
  const over = Math.max(staying.length + 1 - max, 0);
  const remove = staying
    .filter(({ phase }) => phase === 'idle')
    .sort((one, other) => Date.parse(one.renewedAt) - Date.parse(other.renewedAt))
    .slice(0, over);
  return { remove, short: over - remove.length };
}
