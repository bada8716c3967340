import type { Kysely, Selectable } from 'kysely';
import type { Logger } from 'pino';

import type { ApiKeysTable } from '../store/accessTables.ts';
import type { Schema } from '../store/schema.ts';

/** An API key as it was stored. */
export type StoredApiKey = Selectable<ApiKeysTable>;

/** Looks keys up by their hashes, without asking the database each time, and remembers when they were used. */
export interface KeyRing {
  /** The key of that hash, revoked and expired ones too; undefined where there is none. */
  find(keyHash: string): Promise<StoredApiKey | undefined>;
  /** Notes that a key was used; written at most once a minute. */
  used(key: StoredApiKey): void;
  /** Forgets what is known of a key: it changed. */
  forget(keyHash: string): void;
}

/** How long a key is believed to be as it was read, in milliseconds. Changes made here are seen at once. */
const BELIEVED_MS = 30_000;
const MOST_KEYS = 10_000;
const WRITE_USE_EVERY_MS = 60_000;

/** Makes a {@link KeyRing} on the database's `api_keys`. */
export function createKeyRing(kysely: Kysely<Schema>, log: Logger): KeyRing {
  const known = new Map<string, { key: StoredApiKey; until: number }>();
  const written = new Map<string, number>();
  let changes = 0;
  return {
    find: async (keyHash) => {
      const remembered = known.get(keyHash);
      if (remembered !== undefined && Date.now() < remembered.until) return remembered.key;
      known.delete(keyHash);
      const before = changes;
      const key = await kysely
        .selectFrom('api_keys')
        .selectAll()
        .where('key_hash', '=', keyHash)
        .executeTakeFirst();
      // What was read while a key changed may be what it was: it is not remembered.
      if (key === undefined || changes !== before) return key;
      if (known.size >= MOST_KEYS) known.clear();
      known.set(keyHash, { key, until: Date.now() + BELIEVED_MS });
      return key;
    },

    used: (key) => {
      const at = Date.now();
      if (at < (written.get(key.id) ?? 0) + WRITE_USE_EVERY_MS) return;
      if (written.size >= MOST_KEYS) written.clear();
      written.set(key.id, at);
      kysely
        .updateTable('api_keys')
        .set({ last_used_at: new Date(at) })
        .where('id', '=', key.id)
        .execute()
        .catch((error: unknown) => log.warn({ err: error, key: key.id }, 'the use of a key was not noted'));
    },

    forget: (keyHash) => {
      changes += 1;
      known.delete(keyHash);
    },
  };
}
