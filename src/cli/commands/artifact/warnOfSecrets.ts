import { type SuspectedSecret, suspectedSecrets } from '../../../artifact/suspectedSecrets.ts';
import { SlipwayError } from '../../../domain/errors.ts';
import type { Output } from '../../output.ts';
import type { SourceToPack } from './artifactOf.ts';

/**
 * Warns of suspected secrets in a source that is about to be packed.
 * @param strict - throw instead.
 * @throws SlipwayError SLIPWAY_ARTIFACT_HOLDS_SECRET with `strict`, naming the first places.
 */
export async function warnOfSecrets(
  output: Output,
  source: SourceToPack,
  strict: boolean,
  signal: AbortSignal,
): Promise<void> {
  const found = await suspectedSecrets({ ...source, signal });
  const [first] = found;
  if (first === undefined) return;
  for (const { path, line, what } of found) output.event({ event: 'suspected_secret', path, line, what });
  if (strict) {
    throw new SlipwayError(
      'SLIPWAY_ARTIFACT_HOLDS_SECRET',
      `the source contains what looks like a secret: ${listed(found)}`,
      {
        place: placeOf(first),
        hint: 'Exclude it in .slipwayignore, or refer to it: secrets: [{ name: …, from: env:… }].',
      },
    );
  }
  output.warn(`the source contains what looks like a secret: ${listed(found)}`);
  output.note('  exclude it in .slipwayignore; --strict rejects such a source');
}

const NAMED = 5;

function listed(found: readonly SuspectedSecret[]): string {
  const named = found.slice(0, NAMED).map((secret) => `${placeOf(secret)} (${secret.what})`);
  const more = found.length - named.length;
  return named.join(', ') + (more > 0 ? `, and ${more} more` : '');
}

function placeOf({ path, line }: SuspectedSecret): string {
  return line === null ? path : `${path}:${line}`;
}
