import { Context } from '@temporalio/activity';

import type { Answered, CheckedAgent } from '../../check/askAgent.ts';
import type { AskedDataset } from '../../check/askDataset.ts';
import { chosenRows, type DatasetRow, datasetRows } from '../../check/datasetRows.ts';
import type { Evaluating } from '../../check/evaluate.ts';
import type { ChecksBudget, Spent } from '../../domain/check/budget.ts';
import type { Check } from '../../domain/check/check.ts';
import {
  type Dataset,
  type DatasetDecision,
  type DatasetProgress,
  type DatasetResults,
  NO_ROWS,
  ROW_RESULTS,
  type RowBatch,
  type RowResult,
  ROWS_UNDER_WAY,
  type ShownRun,
} from '../../domain/check/dataset.ts';
import type { ReleaseStore } from '../connections.ts';
import { noteProgress } from '../heartbeat.ts';
import { scrubTexts, warn } from '../scrub.ts';

/** What a check over a dataset needs. */
export interface DatasetCheck {
  readonly agent: CheckedAgent;
  readonly check: Check;
  readonly dataset: Dataset;
  readonly budget: ChecksBudget | undefined;
  readonly evaluating: Evaluating;
  /** The store with the dataset, and for the results of its rows. */
  readonly store: ReleaseStore;
  /** Names the results in the store. The next attempt continues with those; `null`: it begins again. */
  readonly resultsId: string | null;
  /** Throws SLIPWAY_NOT_SERVING if another revision serves: then no answer since the last call counts. */
  readonly confirm: () => Promise<void>;
  readonly onAnswered: (answered: Answered) => Promise<ShownRun>;
  readonly onSpent: (spent: Spent) => void;
}

/**
 * Asks the agent the rows of a check's dataset. Each result is stored before another row is asked in its place, so the next
 * attempt asks only the rows again that were under way.
 * @throws SLIPWAY_ARTIFACT_NOT_FOUND, SLIPWAY_ARTIFACT_CORRUPT; what `askDataset` throws.
 */
export async function runDatasetCheck(options: DatasetCheck): Promise<AskedDataset> {
  const { agent, check, dataset, budget, evaluating, store, resultsId, confirm, onAnswered, onSpent } =
    options;
  const rows = await rowsOf(store, check, dataset);
  const kept = await KeptRows.open(store, resultsId, confirm);
  // Loaded only if there is a dataset to decide, because the statistics are WebAssembly.
  const { askDataset } = await import('../../check/askDataset.ts');
  const asked = await askDataset({
    check,
    dataset,
    rows,
    begun: kept.begun,
    budget,
    onAnswered,
    onSpent,
    agent,
    evaluating,
    onResult: async (result, progress) => {
      const passed = progress.rows.filter((row) => row.passed).length;
      noteProgress(
        `check "${check.name}": ${progress.rows.length} of ${rows.length} rows asked, ${passed} passed`,
      );
      await kept.keep(scrubTexts(result), progress.timeMs);
    },
    toTheEnd: false,
    signal: Context.current().cancellationSignal,
  });
  const { digest, of, seed } = dataset;
  const results: DatasetResults = scrubTexts({
    check: check.name,
    dataset: { digest, of, seed, rows: rows.length },
    rows: asked.rows,
  });
  const record = await kept.conclude(results, asked.verdict.dataset.decision);
  const found = { ...asked.verdict.dataset, results: record };
  return { ...asked.verdict, dataset: found };
}

async function rowsOf(
  store: ReleaseStore,
  check: Check,
  { digest, rows, seed }: Dataset,
): Promise<readonly DatasetRow[]> {
  const { stream } = await store.open(digest);
  return chosenRows(datasetRows(stream, digest, check), rows, seed);
}

/**
 * The results of a dataset's rows in the artifact store. While rows are asked, results are stored in batches, each as soon as
 * the one before is stored. When all are decided, one record takes their place.
 */
class KeptRows {
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
