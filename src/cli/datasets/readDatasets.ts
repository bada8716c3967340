import { datasetInvalid, datasetRows } from '../../check/datasetRows.ts';
import type { LoadedConfig } from '../../config/loadConfig.ts';
import type { DeclaredCheck, DeclaredDataset } from '../../config/datasetSchema.ts';
import { type ChecksBudget, fewestRuns } from '../../domain/check/budget.ts';
import type { Check } from '../../domain/check/check.ts';
import { type Dataset, DATASET_MAX, datasetProblem } from '../../domain/check/dataset.ts';
import { SlipwayError } from '../../domain/errors.ts';
import { artifactStoreOf } from '../commands/artifact/artifactOf.ts';
import type { CommandContext } from '../context.ts';
import { type DatasetSource, datasetSource } from './datasetSource.ts';

/** Checks whose datasets were read, as a release carries them. */
export interface ReadDatasets {
  readonly checks: readonly Check[];
  /** Where the rows of each check come from, by its name. */
  readonly sources: ReadonlyMap<string, DatasetSource>;
  /** Puts the datasets into the artifact store. Call it before the request. */
  readonly store: () => Promise<void>;
}

/**
 * Reads the datasets of checks: each row is validated now, so that a wrong one does not fail only after the deployment.
 *
 * @throws SlipwayError SLIPWAY_DATASET_INVALID with the line, SLIPWAY_DATASET_CHANGED, SLIPWAY_CONFIG_INVALID if the budget has
 * no room for the rows, SLIPWAY_ARTIFACT_…; a ServiceError if a URL cannot be read.
 */
export async function readDatasets(
  context: Pick<CommandContext, 'home' | 'environment'>,
  { config, folder }: Pick<LoadedConfig, 'config' | 'folder'>,
  {
    checks: declared,
    checksBudget,
  }: { readonly checks: readonly DeclaredCheck[]; readonly checksBudget?: ChecksBudget | undefined },
  signal?: AbortSignal,
): Promise<ReadDatasets> {
  const sources = new Map<string, DatasetSource>();
  const checks: Check[] = [];
  for (const { dataset, ...check } of declared) {
    if (dataset === undefined) {
      checks.push(check);
      continue;
    }
    const source = await datasetSource(dataset, folder, artifactStoreOf({ config, folder }, context), signal);
    sources.set(check.name, source);
    checks.push({ ...check, dataset: await counted(source, dataset, check) });
  }
  requireRoom(checks, checksBudget);
  return {
    checks,
    sources,
    store: async () => {
      for (const source of sources.values()) await source.put(signal);
    },
  };
}

/** The dataset as a release carries it. */
async function counted(
  source: DatasetSource,
  { path: _path, url: _url, sample, ...declared }: DeclaredDataset,
  check: Pick<Check, 'name' | 'expect'>,
): Promise<Dataset> {
  let of = 0;
  for await (const _row of datasetRows(await source.open(), source.name, check)) of += 1;
  const rows = Math.min(sample ?? of, of);
  const problem =
    of === 0
      ? 'it has no rows'
      : rows > DATASET_MAX.asked
        ? `it has ${rows} rows, and a check asks at most ${DATASET_MAX.asked}: set sample`
        : datasetProblem({ ...declared, rows });
  if (problem !== undefined) throw datasetInvalid(source.name, `check "${check.name}": ${problem}`);
  return { ...declared, digest: source.digest, of, rows };
}

function requireRoom(checks: readonly Check[], { runs = Infinity }: ChecksBudget = {}): void {
  const fewest = fewestRuns(checks);
  if (fewest <= runs) return;
  throw new SlipwayError('SLIPWAY_CONFIG_INVALID', `the checks take ${fewest} runs at least`, {
    place: 'checksBudget.runs',
    hint: `raise it, or ask fewer rows: dataset.sample`,
  });
}
