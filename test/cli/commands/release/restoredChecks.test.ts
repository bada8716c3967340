import { describe, expect, it } from 'vitest';

import { keepChecks } from '../../../../src/artifact/artifactStore.ts';
import { openArtifactStore } from '../../../../src/artifact/openArtifactStore.ts';
import { restoredChecks } from '../../../../src/cli/commands/release/releasePlan.ts';
import type { Check } from '../../../../src/domain/check/check.ts';
import { useFolders } from '../../../support/temporaryFolder.ts';

const at = '2026-11-21T12:00:00.000Z';
const OLD: readonly Check[] = [
  { name: 'greets', assistant: 'agent', input: {}, expect: { contains: 'Hello' }, timeoutMs: 1_000 },
];

const folder = useFolders();

describe('the checks of the revision that a failed release restores', () => {
  it('are those that it passed itself, not those of the newest request', async () => {
    const store = openArtifactStore(folder());
    const known = [{ revisionId: 'r1', verified: true, at, checks: await keepChecks(store, OLD) }];
    expect(await restoredChecks(store, 'r1', known)).toEqual(OLD);
  });

  it('are those of an earlier verified revision if the serving one is not verified', async () => {
    const store = openArtifactStore(folder());
    const checks = await keepChecks(store, OLD);
    const known = [
      { revisionId: 'r1', verified: true, at, checks },
      { revisionId: 'r2', verified: false, at },
    ];
    expect(await restoredChecks(store, 'r2', known)).toEqual(OLD);
  });

  it.each([
    ['was not verified', { verified: false }],
    ['has none that were kept', { verified: true }],
    ['has some that cannot be read from here', { verified: true, checks: 'sha256:00' }],
  ])('are none if it %s', async (_what, revision) => {
    const known = [{ revisionId: 'r1', at, ...revision }];
    expect(await restoredChecks(openArtifactStore(folder()), 'r1', known)).toEqual([]);
  });
});
