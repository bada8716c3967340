import { setImmediate } from 'node:timers/promises';

import { DummyDriver, Kysely, PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler } from 'kysely';
import { expect, it, vi } from 'vitest';

import { homeLayout } from '../../../src/controlPlane/homeLayout.ts';
import { BranchPoller } from '../../../src/controlPlane/pushes/branchPoller.ts';
import { createLogger } from '../../../src/http/logger.ts';
import type { Schema } from '../../../src/store/schema.ts';
import { gate } from '../testPlatform.ts';

const BRANCH = {
  deploymentId: 'd',
  repository: { integrationId: 'unknown', repoUrl: 'https://git.test/agent.git' },
  ref: 'main',
  latestRevisionId: null,
  commit: null,
  isCommitPending: false,
};

it.each([
  ['that polls', 1, (poller: BranchPoller) => poller.start()],
  [
    'that was asked again during a query',
    2,
    (poller: BranchPoller) => {
      poller.queryNow([BRANCH]);
      poller.queryNow([BRANCH]);
    },
  ],
])('a poller %s is closed after its last read', async (_, read, begin) => {
  const events: string[] = [];
  const answer = gate();
  let reads = 0;
  const kysely = new Kysely<Schema>({
    dialect: {
      createAdapter: () => new PostgresAdapter(),
      createDriver: () => new DummyDriver(),
      createIntrospector: (db) => new PostgresIntrospector(db),
      createQueryCompiler: () => new PostgresQueryCompiler(),
    },
    plugins: [
      {
        transformQuery: ({ node }) => node,
        transformResult: async ({ result }) => {
          if (++reads === read) {
            await answer.promise;
            events.push('read');
          }
          return result;
        },
      },
    ],
  });
  const log = createLogger({ level: 'silent' });
  const home = homeLayout('/nowhere');
  const onRevisionsCreated = (): void => undefined;
  const poller = new BranchPoller({ kysely, home, log, intervalMs: 60_000, onRevisionsCreated });
  begin(poller);
  await vi.waitFor(() => expect(reads).toBe(read), 10_000);
  const closed = poller.close().then(() => events.push('closed'));
  await setImmediate();
  answer.open();
  await closed;
  expect(events).toEqual(['read', 'closed']);
});
