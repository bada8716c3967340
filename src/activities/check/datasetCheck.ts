import { Context } from '@temporalio/activity';

import type { Answered, CheckedAgent } from '../../check/askAgent.ts';
import type { AskedDataset } from '../../check/askDataset.ts';
import { chosenRows, type DatasetRow, datasetRows } from '../../check/datasetRows.ts';
import type { Evaluating } from '../../check/evaluate.ts';
import type { ChecksBudget, Spent } from '../../domain/check/budget.ts';
import type { Check } from '../../domain/check/check.ts';
import type { Dataset, DatasetResults, ShownRun } from '../../domain/check/dataset.ts';
import type { ReleaseStore } from '../connections.ts';
import { noteProgress } from '../heartbeat.ts';
import { scrubTexts } from '../scrub.ts';
import { KeptRows } from './keptRows.ts';

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
  return { ...asked.verdict, dataset: { ...asked.verdict.dataset, results: record } };
}

async function rowsOf(
  store: ReleaseStore,
  check: Check,
  { digest, rows, seed }: Dataset,
): Promise<readonly DatasetRow[]> {
  const { stream } = await store.open(digest);
  return chosenRows(datasetRows(stream, digest, check), rows, seed);
}
