import type { ArtifactStore } from '../../../artifact/artifactStore.ts';
import { readKeptChecks } from '../../../artifact/keptChecks.ts';
import type { Check } from '../../../domain/check/check.ts';
import { SlipwayError } from '../../../domain/errors.ts';
import type { KnownRevision } from '../../../domain/release/release.ts';
import { restoreCandidates } from '../../../domain/restore/restoreChoice.ts';

/**
 * The checks that run on the revision that a failed release puts back first: those that it passed itself (design, "What
 * restoring means"). None if it is not verified, or if its checks were not kept or cannot be read from here.
 *
 * @param active - the revision that serves; `null`: nothing.
 * @param known - what the target knows, the oldest first.
 */
export async function restoredChecks(
  store: ArtifactStore,
  active: string | null,
  known: readonly KnownRevision[],
): Promise<readonly Check[]> {
  const wordOn = (id: string | undefined | null): KnownRevision | undefined =>
    known.findLast(({ revisionId }) => revisionId === id);
  const baseline = { revisionId: active, verified: wordOn(active)?.verified ?? false };
  const [first] = restoreCandidates({ to: undefined, baseline, known, avoid: [] });
  const digest = wordOn(first?.revisionId)?.checks;
  if (first?.verified !== true || digest === undefined) return [];
  try {
    return await readKeptChecks(store, digest);
  } catch (error) {
    if (!(error instanceof SlipwayError)) throw error;
    return [];
  }
}
