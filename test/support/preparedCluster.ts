import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { PGlite } from '@electric-sql/pglite';
import { type TestProject } from 'vitest/node';

declare module 'vitest' {
  interface ProvidedContext {
    /** An empty embedded database, closed: copied by `preparedHome`, because making one takes seconds. */
    preparedCluster: string;
  }
}

/** One empty embedded database for all tests of the project. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const directory = await mkdtemp(join(tmpdir(), 'slipway-cluster-'));
  const database = await PGlite.create(directory);
  await database.close();
  project.provide('preparedCluster', directory);
  return () => rm(directory, { recursive: true, force: true });
}
