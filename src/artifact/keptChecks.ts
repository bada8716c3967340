import { createHash } from 'node:crypto';

import { canonicalJson } from '@slipway/contract/canonicalJson';

import type { Check } from '../domain/check/check.ts';
import { SlipwayError } from '../domain/errors.ts';
import type { ArtifactStore } from './artifactStore.ts';

/** The digest under which a list of checks is kept: equal lists, one digest. */
export function checksDigest(checks: readonly Check[]): string {
  return `sha256:${createHash('sha256').update(canonicalJson(checks)).digest('hex')}`;
}

/**
 * Keeps a list of checks among the records of an artifact store, which `slipway prune` never removes. Keeping it again
 * writes nothing.
 *
 * @returns its digest.
 */
export async function keepChecks(
  store: Pick<ArtifactStore, 'getRecord' | 'putRecord'>,
  checks: readonly Check[],
): Promise<string> {
  const digest = checksDigest(checks);
  const name = recordOf(digest);
  if ((await store.getRecord(name)) === undefined) await store.putRecord(name, checks);
  return digest;
}

/** @throws SlipwayError SLIPWAY_RECORD_UNREADABLE if the store has no such list, or another one under its name. */
export async function readKeptChecks(
  store: Pick<ArtifactStore, 'getRecord' | 'url'>,
  digest: string,
): Promise<readonly Check[]> {
  const name = recordOf(digest);
  const checks = (await store.getRecord(name)) as readonly Check[] | undefined;
  if (checks !== undefined && checksDigest(checks) === digest) return checks;
  throw new SlipwayError(
    'SLIPWAY_RECORD_UNREADABLE',
    `the record ${name} ${checks === undefined ? 'is missing' : 'does not match its digest'}`,
    { place: store.url, hint: 'Restore it from a backup, or release the artifact again.' },
  );
}

/** No target's name begins so: its releases' records stand beside. */
function recordOf(digest: string): string {
  return `_checks/${digest.slice('sha256:'.length)}.json`;
}
