import { expect, it } from 'vitest';

import { memoryStore } from '../../../src/artifact/memoryStore.ts';
import { olderReleases } from '../../../src/dashboard/history/olderReleases.ts';
import { pastOfResult } from '../../../src/domain/release/pastRelease.ts';
import { SlipwayError } from '../../../src/domain/errors.ts';
import { result } from '../../domain/target/targets.ts';

let stores = 0;

/** A target whose workflow still has its release 3, and a store with the records of some releases. */
async function recorded(ids: readonly string[], changes = {}) {
  const kept = new Map<string, unknown>();
  const store = memoryStore(kept);
  for (const id of ids) {
    const number = id.slice(id.indexOf('-') + 1).padStart(2, '0');
    const at = `2026-01-${number}T12:00:00.000Z`;
    const workflowId = `target:a/${id}`;
    const record = { ...result(id, { startedAt: at, endedAt: at }), workflowId, ...changes };
    await store.putRecord(`production/2026-01-${number}T12-00-00-000Z-${id}.json`, record);
  }
  const history = {
    workflowId: 'target:a',
    name: 'production',
    releases: [pastOfResult(result('release-3', { endedAt: '2026-01-03T12:00:00.000Z' }))],
    olderIn: `file:///store-${++stores}`,
    unanswered: null,
  };
  let reads = 0;
  const open = () => ({
    listRecords: () => Promise.resolve([...kept.keys()].sort()),
    getRecord: (name: string) => {
      reads++;
      return store.getRecord(name);
    },
  });
  return { history, open, reads: () => reads };
}

const ids = ({ releases }: { readonly releases: readonly { readonly releaseId: string }[] }) =>
  releases.map(({ releaseId }) => releaseId);

it('are those of the records that the target no longer lists, newest first, and are read once', async () => {
  const { history, open, reads } = await recorded(['release-1', 'rollback-2', 'release-3']);
  expect(ids(await olderReleases(history, 0, open))).toEqual(['rollback-2', 'release-1']);
  expect(ids(await olderReleases(history, 0, open))).toEqual(['rollback-2', 'release-1']);
  expect(reads()).toBe(2);
});

it('are not read if the target’s own list goes back far enough, or is complete', async () => {
  const { history, open, reads } = await recorded(['release-1']);
  expect(ids(await olderReleases(history, Date.parse('2026-01-03T13:00:00Z'), open))).toEqual([]);
  expect(ids(await olderReleases({ ...history, olderIn: null }, 0, open))).toEqual([]);
  expect(reads()).toBe(0);
});

it('are not those of another target with the same name, also of one that found no deployment', async () => {
  const another = { workflowId: 'target:b/release-1', deploymentId: null };
  const { history, open } = await recorded(['release-1'], another);
  expect(ids(await olderReleases(history, 0, open))).toEqual([]);
});

it('have a message if the store cannot be read from here', async () => {
  const { history } = await recorded([]);
  const open = () => {
    throw new SlipwayError('SLIPWAY_ARTIFACT_STORE_UNAVAILABLE', 'no such bucket');
  };
  expect((await olderReleases(history, 0, open)).missing).toContain('no such bucket');
});
