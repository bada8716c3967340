import { datasetInvalid, datasetRows } from '../../check/datasetRows.ts';
import type { DeclaredCheck, DeclaredDataset } from '../../config/datasetSchema.ts';
import type { Project } from '../../config/loadConfig.ts';
import { type ChecksBudget, fewestRuns } from '../../domain/check/budget.ts';
import type { Check } from '../../domain/check/check.ts';
import { type Dataset, DATASET_MAX, datasetProblem } from '../../domain/check/dataset.ts';
import { SlipwayError } from '../../domain/errors.ts';
import type { WholeNumber } from '../../domain/scalars.ts';
import type { Machine } from '../../inspection/deployment/deploymentAccess.ts';
import { artifactStoreOf } from '../commands/artifact/artifactOf.ts';
import { type DatasetSource, datasetSource } from './datasetSource.ts';

export interface ReadDatasets {
  readonly checks: readonly Check[];
  readonly sources: ReadonlyMap<string, DatasetSource>;
  /** Puts the datasets into the artifact store. Call it before the request. */
  readonly store: () => Promise<void>;
}

/**
 * Reads the datasets of checks: each row is validated now, so that a wrong one does not fail only after the deployment.
 * @throws SlipwayError SLIPWAY_DATASET_INVALID with the line, SLIPWAY_DATASET_CHANGED, SLIPWAY_CONFIG_INVALID if the budget has
 * no room for the rows, SLIPWAY_ARTIFACT_…; a ServiceError if a URL cannot be read.
 */
export async function readDatasets(
  context: Machine,
  { config, folder }: Project,
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
    let of = 0;
    for await (const _row of datasetRows(await source.open(), source.name, check)) of += 1;
    const asked = askedDataset(dataset, source.digest, of);
    if (typeof asked === 'string') throw datasetInvalid(source.name, `check "${check.name}": ${asked}`);
    checks.push({ ...check, dataset: asked });
  }
  const problem = budgetProblem(checks, checksBudget);
  if (problem !== undefined) {
    throw new SlipwayError('SLIPWAY_CONFIG_INVALID', problem, { place: 'checksBudget.runs' });
  }
  return {
    checks,
    sources,
    store: async () => {
      for (const source of sources.values()) await source.put(signal);
    },
  };
}

/** A dataset with this many rows as a release carries it; a text says why it cannot be asked. */
export function askedDataset(
  { path: _path, url: _url, sample, ...declared }: DeclaredDataset,
  digest: string,
  of: WholeNumber,
): Dataset | string {
  if (of === 0) return 'it has no rows';
  const rows = Math.min(sample ?? of, of);
  if (rows > DATASET_MAX.asked) {
    return `it has ${rows} rows, and a check asks at most ${DATASET_MAX.asked}: set sample`;
  }
  return datasetProblem({ ...declared, rows }) ?? { ...declared, digest, of, rows };
}

/** Why a budget has no room for checks; `undefined` if it has. */
export function budgetProblem(
  checks: readonly Check[],
  { runs = Infinity }: ChecksBudget = {},
): string | undefined {
  const fewest = fewestRuns(checks);
  if (fewest <= runs) return undefined;
  return `the checks take at least ${fewest} runs: raise it, or ask fewer rows (dataset.sample)`;
}
