import type { Kysely, Selectable } from 'kysely';
import type { Logger } from 'pino';

import type { ApiKeysTable, Schema } from '../store/schema.ts';

export type StoredApiKey = Selectable<ApiKeysTable>;

/** How long a key is cached, in milliseconds. Changes in this process apply at once. */
const KEY_CACHE_MS = 30_000;
const MAX_CACHED_KEYS = 10_000;
const LAST_USED_WRITE_INTERVAL_MS = 60_000;

/** Finds keys by their hashes, with a cache, and records their last use. */
export class KeyCache {
  readonly #kysely: Kysely<Schema>;
  readonly #log: Logger;
  readonly #keys = new Map<string, { key: StoredApiKey; until: number }>();
  readonly #lastUsedWrites = new Map<string, number>();
  #changes = 0;

  constructor(kysely: Kysely<Schema>, log: Logger) {
    this.#kysely = kysely;
    this.#log = log;
  }

  /** The key with that hash, also a revoked or expired one; undefined if there is none. */
  async find(keyHash: string): Promise<StoredApiKey | undefined> {
    const cached = this.#keys.get(keyHash);
    if (cached !== undefined && Date.now() < cached.until) return cached.key;
    this.#keys.delete(keyHash);
    const before = this.#changes;
    const key = await this.#kysely
      .selectFrom('api_keys')
      .selectAll()
      .where('key_hash', '=', keyHash)
      .executeTakeFirst();
    // A key that changed during the read may be outdated, so it is not cached.
    if (key === undefined || this.#changes !== before) return key;
    if (this.#keys.size >= MAX_CACHED_KEYS) this.#keys.clear();
    this.#keys.set(keyHash, { key, until: Date.now() + KEY_CACHE_MS });
    return key;
  }

  /** Records that a key was used, at most once a minute. */
  used({ id }: StoredApiKey): void {
    const at = Date.now();
    if (at < (this.#lastUsedWrites.get(id) ?? 0) + LAST_USED_WRITE_INTERVAL_MS) return;
    if (this.#lastUsedWrites.size >= MAX_CACHED_KEYS) this.#lastUsedWrites.clear();
    this.#lastUsedWrites.set(id, at);
    this.#kysely
      .updateTable('api_keys')
      .set({ last_used_at: new Date(at) })
      .where('id', '=', id)
      .execute()
      .catch((error: unknown) => this.#log.warn({ err: error, key: id }, 'the use of a key was not noted'));
  }

  forget(keyHash: string): void {
    this.#changes += 1;
    this.#keys.delete(keyHash);
  }
}
