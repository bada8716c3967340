import type { Kysely } from 'kysely';

import type { Schema } from '../store/schema.ts';

/**
 * The deployments and listeners that were made in the public vocabulary: what a request that names nothing is answered
 * by. None ever changes its vocabulary, and the database has one owner, so the ids are read when one was made and kept: about a
 * hundred bytes each, and none on a platform that no public client has used.
 */
export interface PublicResources {
  ids(): Promise<ReadonlySet<string>>;
  /** Says that another may have been made. */
  changed(): void;
}

/** Makes {@link PublicResources}; nothing is read before it is asked. */
export function createPublicResources(kysely: Kysely<Schema>): PublicResources {
  const ids = new Set<string>();
  let reading: Promise<void> | undefined;
  const read = async (): Promise<void> => {
    for (const table of ['deployments', 'listeners'] as const) {
      const rows = kysely.selectFrom(table).select('id').where('vocabulary', '=', 'public');
      for (const { id } of await rows.execute()) ids.add(id);
    }
  };
  return {
    ids: async () => {
      reading ??= read();
      try {
        await reading;
      } catch (error) {
        reading = undefined;
        throw error;
      }
      return ids;
    },
    changed: () => (reading = undefined),
  };
}
