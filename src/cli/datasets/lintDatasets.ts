import { dirname, resolve } from 'node:path';

import type { ArtifactStore } from '../../artifact/artifactStore.ts';
import { readRows, type RowRules, type WrongRow } from '../../check/datasetRows.ts';
import type { ConfigProblem } from '../../config/configPlace.ts';
import type { FieldProblem } from '../../config/configProblem.ts';
import type { Config } from '../../config/configSchema.ts';
import type { DeclaredDataset } from '../../config/datasetSchema.ts';
import { setting } from '../../config/environment.ts';
import type { LintedConfig } from '../../config/loadConfig.ts';
import type { Check } from '../../domain/check/check.ts';
import { type ErrorCode, SlipwayError } from '../../domain/errors.ts';
import type { Machine } from '../../inspection/deployment/deploymentAccess.ts';
import { artifactStoreOf } from '../commands/artifact/artifactStoreOf.ts';
import { askedDataset, budgetProblem, type DatasetSource, datasetSource } from './readDatasets.ts';

export interface LintedDatasets {
  readonly problems: readonly ConfigProblem[];
  /** The checks whose dataset was not read, because only its URL has it. */
  readonly notRead: readonly string[];
}

const SHOWN_MAX = 20;
/** How much of a wrong line is shown, in characters. */
const EXCERPT_MAX = 200;

/** Finds wrong rows in the datasets of a file, and settings that do not fit the number of rows. Fetches no URL. */
export async function lintDatasets(
  context: Machine,
  { file, config, place }: Pick<LintedConfig, 'file' | 'place'> & { readonly config: Config },
): Promise<LintedDatasets> {
  const folder = dirname(file);
  const store = artifactStoreOf({ config, folder }, context);
  // The default store may not be the one of the machine that releases.
  const chosen = config.artifact.store ?? setting(context.environment, 'SLIPWAY_ARTIFACT_STORE');
  const uncertain = chosen === undefined ? [...UNAVAILABLE, 'SLIPWAY_ARTIFACT_NOT_FOUND'] : UNAVAILABLE;
  const problems: ConfigProblem[] = [];
  const notRead: string[] = [];
  const checks: Check[] = [];
  for (const [index, { dataset, ...check }] of config.checks.entries()) {
    if (dataset === undefined) {
      checks.push(check);
      continue;
    }
    if (await isOnlyAtUrl(dataset, store)) {
      notRead.push(check.name);
      continue;
    }
    const at = (message: string, code: ErrorCode = 'SLIPWAY_DATASET_INVALID'): FieldProblem => {
      return { path: ['checks', index, 'dataset'], message, code };
    };
    try {
      const source = await datasetSource(dataset, folder, store);
      const { of, wrong } = await readAll(source, check);
      const asked = askedDataset(dataset, source.digest, of);
      if (typeof asked !== 'string') checks.push({ ...check, dataset: asked });
      const shown = wrong.slice(0, SHOWN_MAX);
      const atField = [
        ...(dataset.path === undefined
          ? shown.map(({ line, problem }) => at(`line ${line}: ${problem}`))
          : []),
        ...(wrong.length > SHOWN_MAX ? [at(`${wrong.length - SHOWN_MAX} more lines are wrong`)] : []),
        ...(typeof asked === 'string' ? [at(asked)] : []),
      ];
      problems.push(...inFile(shown, folder, dataset), ...place(atField, []));
    } catch (error) {
      if (!(error instanceof SlipwayError)) throw error;
      const { message, code } = error;
      const isUncertain = uncertain.includes(code);
      problems.push(...place(isUncertain ? [] : [at(message, code)], isUncertain ? [at(message, code)] : []));
    }
  }
  const message = budgetProblem(checks, config.checksBudget);
  const ofBudget = message === undefined ? [] : [{ path: ['checksBudget', 'runs'], message }];
  return { problems: [...problems, ...place(ofBudget, [])], notRead };
}

const UNAVAILABLE: readonly ErrorCode[] = [
  'SLIPWAY_ARTIFACT_STORE_UNAVAILABLE',
  'SLIPWAY_ARTIFACT_STORE_REFUSED',
];

/** Whether a dataset must be fetched, because the store does not have the stated digest, or none is stated. */
async function isOnlyAtUrl({ url, digest }: DeclaredDataset, store: ArtifactStore): Promise<boolean> {
  if (url === undefined) return false;
  return digest === undefined || !(await store.has(digest).catch(() => false));
}

async function readAll(source: DatasetSource, rules: RowRules) {
  let of = 0;
  const wrong: WrongRow[] = [];
  for await (const row of readRows(await source.open(), rules)) {
    of += 1;
    if ('problem' in row) wrong.push(row);
  }
  return { of, wrong };
}

function inFile(
  wrong: readonly WrongRow[],
  folder: string,
  { path }: DeclaredDataset,
): readonly ConfigProblem[] {
  if (path === undefined) return [];
  return wrong.map(({ line, text, problem: message }) => ({
    file: resolve(folder, path),
    severity: 'error',
    code: 'SLIPWAY_DATASET_INVALID',
    line,
    column: 1,
    length: 1,
    path: '',
    message,
    excerpt: text.slice(0, EXCERPT_MAX),
  }));
}
