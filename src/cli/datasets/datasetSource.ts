import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Readable } from 'node:stream';

import type { ArtifactStore } from '../../artifact/artifactStore.ts';
import { digestFile } from '../../artifact/digest.ts';
import { systemReason } from '../../artifact/sourceFiles.ts';
import { datasetInvalid } from '../../check/datasetRows.ts';
import type { DeclaredDataset } from '../../config/datasetSchema.ts';
import { DATASET_MAX } from '../../domain/check/dataset.ts';
import { SlipwayError } from '../../domain/errors.ts';

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
  const folder = await mkdtemp(join(tmpdir(), 'slipway-dataset-'));
  try {
    const file = join(folder, 'dataset.jsonl');
    await writeFile(file, bytes);
    await store.put(file, digest, signal);
  } finally {
    await rm(folder, { recursive: true });
  }
}

function requireStated(name: string, digest: string, stated: string | undefined): void {
  if (stated === undefined || stated === digest) return;
  throw new SlipwayError(
    'SLIPWAY_DATASET_CHANGED',
    `the dataset has the digest ${digest}, and slipway.yaml states ${stated}`,
    { place: name, hint: 'look at what changed; if the new rows are right, state their digest' },
  );
}
