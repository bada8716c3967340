import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { Readable } from 'node:stream';

import type { ArtifactStore } from '../../artifact/artifactStore.ts';
import { digestFile } from '../../artifact/digest.ts';
import { systemReason } from '../../artifact/sourceFiles.ts';
import { makeTemporaryFolder } from '../../artifact/temporaryFolder.ts';
import { datasetInvalid, datasetRows } from '../../check/datasetRows.ts';
import type { DeclaredCheck, DeclaredDataset } from '../../config/datasetSchema.ts';
import type { Project } from '../../config/loadConfig.ts';
import { type ChecksBudget, fewestRuns } from '../../domain/check/budget.ts';
import type { Check } from '../../domain/check/check.ts';
import { type Dataset, DATASET_MAX, datasetProblem } from '../../domain/check/dataset.ts';
import { SlipwayError } from '../../domain/errors.ts';
import type { WholeNumber } from '../../domain/scalars.ts';
import type { Machine } from '../../inspection/deployment/deploymentAccess.ts';
import { artifactStoreOf } from '../commands/artifact/artifactStoreOf.ts';

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

/** A dataset with this many rows, in the form of a request; a text: why it cannot be used. */
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

export interface DatasetSource {
  readonly name: string;
  readonly digest: string;
  open(): Promise<Readable>;
  put(signal?: AbortSignal): Promise<void>;
}

/**
 * Finds the dataset of a check: a file, what a URL returns, or what the artifact store has. A digest beside a URL is looked
 * for in the store first, because only those bytes are right.
 * @throws SlipwayError SLIPWAY_DATASET_INVALID, SLIPWAY_DATASET_CHANGED, SLIPWAY_ARTIFACT_NOT_FOUND; a ServiceError if the URL
 * cannot be read.
 */
export async function datasetSource(
  { path, url, digest }: Pick<DeclaredDataset, 'path' | 'url' | 'digest'>,
  folder: string,
  store: ArtifactStore,
  signal?: AbortSignal,
): Promise<DatasetSource> {
  if (path !== undefined) return fileSource(path, resolve(folder, path), digest, store);
  if (digest !== undefined && (url === undefined || (await store.has(digest)))) {
    return {
      name: digest,
      digest,
      open: async () => (await store.open(digest)).stream,
      put: () => Promise.resolve(),
    };
  }
  return urlSource(new URL(url ?? ''), digest, store, signal);
}

async function fileSource(
  name: string,
  file: string,
  stated: string | undefined,
  store: ArtifactStore,
): Promise<DatasetSource> {
  try {
    const found = await stat(file);
    if (!found.isFile()) throw datasetInvalid(name, 'it is not a file');
    if (found.size > DATASET_MAX.bytes)
      throw datasetInvalid(name, `it is larger than ${DATASET_MAX.bytes} bytes`);
    const digest = await digestFile(file);
    requireStated(name, digest, stated);
    return {
      name,
      digest,
      open: () => Promise.resolve(createReadStream(file)),
      put: (signal) => store.put(file, digest, signal),
    };
  } catch (cause) {
    if (cause instanceof SlipwayError) throw cause;
    throw new SlipwayError('SLIPWAY_DATASET_INVALID', `the dataset cannot be read: ${systemReason(cause)}`, {
      place: name,
      hint: 'create the file, or correct its path, which is relative to slipway.yaml',
    });
  }
}

async function urlSource(
  url: URL,
  stated: string | undefined,
  store: ArtifactStore,
  signal: AbortSignal | undefined,
): Promise<DatasetSource> {
  const name = `${url.origin}${url.pathname}`;
  // Loaded only if a dataset has a URL, because the command starts without the HTTP client.
  const { download } = await import('../../clients/download.ts');
  const bytes = await download(url, DATASET_MAX.bytes, { signal });
  const digest = `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
  requireStated(name, digest, stated);
  return {
    name,
    digest,
    open: () => Promise.resolve(Readable.from([bytes])),
    put: (whilePutting) => putBytes(store, bytes, digest, whilePutting),
  };
}

async function putBytes(
  store: ArtifactStore,
  bytes: Buffer,
  digest: string,
  signal: AbortSignal | undefined,
): Promise<void> {
  const folder = await makeTemporaryFolder('slipway-dataset-');
  try {
    const file = join(folder.path, 'dataset.jsonl');
    await writeFile(file, bytes);
    await store.put(file, digest, signal);
  } finally {
    await folder.remove();
  }
}

function requireStated(name: string, digest: string, stated: string | undefined): void {
  if (stated === undefined || stated === digest) return;
  const message = `the dataset has the digest ${digest}, and slipway.yaml states ${stated}`;
  const hint = 'look at what changed; if the new rows are right, state their digest';
  throw new SlipwayError('SLIPWAY_DATASET_CHANGED', message, { place: name, hint });
}
