import {
  type DatasetDecision,
  type DatasetProgress,
  type DatasetResults,
  NO_ROWS,
  ROW_RESULTS,
  type RowBatch,
  type RowResult,
  ROWS_UNDER_WAY,
} from '../../domain/check/dataset.ts';
import type { ReleaseStore } from '../connections.ts';
import { warn } from '../scrub.ts';

/**
 * The results of a dataset's rows in the artifact store. While rows are asked, results are stored in batches, each as soon as
 * the one before is stored. When all are decided, one record takes their place.
 */
export class KeptRows {
  /** The results of earlier attempts. */
  readonly begun: DatasetProgress;
  readonly #store: ReleaseStore;
  readonly #id: string | null;
  readonly #confirm: () => Promise<void>;
  readonly #batches: string[];
  #waiting: RowResult[] = [];
  #timeMs = 0;
  #writing: Promise<void> = Promise.resolve();
  #next: Promise<void> | undefined;

  private constructor(
    store: ReleaseStore,
    id: string | null,
    confirm: () => Promise<void>,
    begun: DatasetProgress,
    batches: string[],
  ) {
    this.#store = store;
    this.#id = id;
    this.#confirm = confirm;
    this.#batches = batches;
    this.begun = begun;
  }

  /**
   * @param id - names the results; `null`: they are not continued, and stored only at the end.
   * @param confirm - called before results are stored. They do not count if it throws.
   * @throws SLIPWAY_ARTIFACT_STORE_UNAVAILABLE, like the other methods.
   */
  static async open(store: ReleaseStore, id: string | null, confirm: () => Promise<void>): Promise<KeptRows> {
    if (id === null) return new KeptRows(store, id, confirm, NO_ROWS, []);
    const names = await store.listRecords(`${ROWS_UNDER_WAY}${id}/`);
    const decided = (await store.getRecord(recordOf(id))) as DatasetResults | undefined;
    const batches = (await Promise.all(names.map((name) => store.getRecord(name)))) as RowBatch[];
    const timeMs = Math.max(0, ...batches.map((batch) => batch.timeMs));
    const rows = decided?.rows ?? batches.flatMap((batch) => batch.rows);
    return new KeptRows(store, id, confirm, { rows, timeMs }, names);
  }

  /** Stores a result, with those that came while the batch before was stored. */
  keep(row: RowResult, timeMs: number): Promise<void> {
    this.#waiting.push(row);
    this.#timeMs = timeMs;
    this.#next ??= this.#writing.then(() => this.#write());
    return this.#next;
  }

  /**
   * Stores the results of all rows as one record, and removes the batches.
   * @returns the record's name; `undefined`: the results are not continued, and no release ends by them, so they are not
   *   kept.
   */
  async conclude(results: DatasetResults, decision: DatasetDecision): Promise<string | undefined> {
    if (this.#id === null && decision !== 'failed') return undefined;
    const record = recordOf(this.#id ?? crypto.randomUUID());
    await this.#store.putRecord(record, results);
    try {
      for (const name of this.#batches) await this.#store.removeRecord(name);
    } catch (error) {
      // "slipway prune" removes them.
      warn('batches of a dataset’s rows could not be removed', error);
    }
    return record;
  }

  async #write(): Promise<void> {
    const rows = this.#waiting;
    this.#waiting = [];
    this.#writing = this.#next ?? this.#writing;
    this.#next = undefined;
    await this.#confirm();
    if (this.#id === null) return;
    const name = `${ROWS_UNDER_WAY}${this.#id}/${String(this.#batches.length).padStart(6, '0')}.json`;
    const batch: RowBatch = { at: new Date().toISOString(), timeMs: this.#timeMs, rows };
    await this.#store.putRecord(name, batch);
    this.#batches.push(name);
  }
}

function recordOf(id: string): string {
  return `${ROW_RESULTS}${id}.json`;
}
