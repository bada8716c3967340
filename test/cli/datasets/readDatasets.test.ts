import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';

import { beforeEach, describe, expect, it } from 'vitest';

import { artifactPath } from '../../../src/artifact/artifactStore.ts';
import { folderStore } from '../../../src/artifact/folderStore.ts';
import { readDatasets } from '../../../src/cli/datasets/readDatasets.ts';
import type { DeclaredDataset } from '../../../src/config/datasetSchema.ts';
import type { ChecksBudget } from '../../../src/domain/check/budget.ts';
import type { Dataset } from '../../../src/domain/check/dataset.ts';
import { startService } from '../../clients/faultyService.ts';
import { useFolders } from '../../support/temporaryFolder.ts';
import { parseConfig } from '../../config/parseConfig.ts';

const ROWS = ['{"input":{"q":1},"reference":1}', '{"input":{"q":2},"reference":2}', '{"input":{"q":3}}'];
const TEXT = ROWS.join('\n');

const folder = useFolders();
let store: ReturnType<typeof folderStore>;
beforeEach(async () => {
  store = folderStore(join(folder(), 'store'));
  await writeFile(join(folder(), 'trains.jsonl'), TEXT);
});

const digestOf = (content: string): string => `sha256:${createHash('sha256').update(content).digest('hex')}`;

const CONFIG = parseConfig(
  `targets: { a: { controlPlane: 'http://localhost:1', apiKey: { from: env:KEY }, deployment: greeter } }
artifact: { store: store }`,
  'slipway.yaml',
  {},
);

/** Reads the dataset of one check, between two checks without one. */
function read(dataset: Partial<DeclaredDataset>, checksBudget?: ChecksBudget) {
  const plain = { assistant: 'agent', input: {}, expect: {}, timeoutMs: 1_000 };
  const checks = [
    { name: 'first', ...plain },
    { name: 'trains', ...plain, dataset: { seed: 7, concurrency: 4, ...dataset } },
    { name: 'last', ...plain },
  ];
  return readDatasets(
    { home: folder(), environment: {} },
    { config: CONFIG, folder: folder() },
    { checks, checksBudget },
  );
}

async function datasetOf(dataset: Partial<DeclaredDataset>): Promise<Dataset | undefined> {
  return (await read(dataset)).checks[1]?.dataset;
}

describe('a dataset in a file', () => {
  it('is refused if it is a pipe, which would be waited for without end', async () => {
    execFileSync('mkfifo', [join(folder(), 'pipe.jsonl')]);
    await expect(read({ path: 'pipe.jsonl' })).rejects.toMatchObject({ code: 'SLIPWAY_DATASET_INVALID' });
  });

  it('that does not exist is refused, with the reason and what its path is relative to', async () => {
    await expect(read({ path: 'nowhere.jsonl' })).rejects.toMatchObject({
      message: 'the dataset cannot be read: ENOENT: no such file or directory',
      hint: expect.stringContaining('relative to slipway.yaml') as string,
    });
  });

  it('becomes its digest and its number of rows, and is stored when the caller says so', async () => {
    const { checks, store: put } = await read({ path: 'trains.jsonl', sample: 2, passRate: 0.2 });
    expect(checks.map(({ name }) => name)).toEqual(['first', 'trains', 'last']);
    const digest = digestOf(TEXT);
    const asked = { digest, of: 3, rows: 2, seed: 7, concurrency: 4, passRate: 0.2 };
    expect(checks[1]?.dataset).toEqual(asked);
    expect(await store.has(digest)).toBe(false);
    await put();
    expect(await text((await store.open(digest)).stream)).toBe(TEXT);
  });

  it('is asked as a whole if the sample is larger', async () => {
    expect(await datasetOf({ path: 'trains.jsonl', sample: 9 })).toMatchObject({ of: 3, rows: 3 });
  });

  it('may have a digest beside it, and no other bytes', async () => {
    const digest = digestOf(TEXT);
    expect(await datasetOf({ path: 'trains.jsonl', digest })).toMatchObject({ digest });
    await writeFile(join(folder(), 'trains.jsonl'), `${TEXT}\n`);
    await expect(read({ path: 'trains.jsonl', digest })).rejects.toMatchObject({
      ...{ code: 'SLIPWAY_DATASET_CHANGED', place: 'trains.jsonl' },
      message: `the dataset has the digest ${digestOf(`${TEXT}\n`)}, and slipway.yaml states ${digest}`,
    });
  });

  it('that changes before it is stored is not stored, so no release asks other rows than were validated', async () => {
    const { store: put } = await read({ path: 'trains.jsonl' });
    await writeFile(join(folder(), 'trains.jsonl'), '{}');
    await expect(put()).rejects.toMatchObject({ code: 'SLIPWAY_ARTIFACT_CORRUPT' });
    expect(await store.listArtifacts()).toEqual([]);
  });

  it.each<[string, (file: string) => Promise<void>, string]>([
    ['is larger than 50 MB', (file) => truncate(file, 50_000_001), 'it is larger than 50000000 bytes'],
    ['is missing', (file) => rm(file), 'ENOENT'],
    ['has no rows', (file) => writeFile(file, '\n\n'), 'check "trains": it has no rows'],
    [
      'has more rows than a check asks',
      (file) => writeFile(file, '{"input":{}}\n'.repeat(10_001)),
      'it has 10001 rows, and a check asks at most 10000: set sample',
    ],
  ])('that %s is refused by name', async (_, change, words) => {
    await change(join(folder(), 'trains.jsonl'));
    await expect(read({ path: 'trains.jsonl' })).rejects.toMatchObject({
      ...{ code: 'SLIPWAY_DATASET_INVALID', place: 'trains.jsonl' },
      message: expect.stringContaining(words),
    });
  });

  it('with a wrong row is refused by its line', async () => {
    await writeFile(join(folder(), 'trains.jsonl'), `${TEXT}\n\n{"inputs":{}}`);
    await expect(read({ path: 'trains.jsonl' })).rejects.toMatchObject({
      ...{ code: 'SLIPWAY_DATASET_INVALID', place: 'trains.jsonl:5' },
    });
  });

  it('with too few rows for the pass rate, or too many for the budget, is refused', async () => {
    await expect(read({ path: 'trains.jsonl', passRate: 0.9 })).rejects.toMatchObject({
      ...{ code: 'SLIPWAY_DATASET_INVALID' },
      message: expect.stringContaining('it takes 29 rows'),
    });
    await expect(read({ path: 'trains.jsonl' }, { runs: 4 })).rejects.toMatchObject({
      ...{ code: 'SLIPWAY_CONFIG_INVALID', place: 'checksBudget.runs' },
      message: expect.stringContaining('the checks take at least 5 runs'),
    });
    expect((await read({ path: 'trains.jsonl', sample: 2 }, { runs: 4 })).checks).toHaveLength(3);
  });
});

describe('a dataset at a URL', () => {
  const QUERY = '?token=sesame';

  it('is fetched and stored under the digest of its bytes', async () => {
    const service = await startService((_, response) => void response.end(TEXT));
    const { checks, store: put } = await read({ url: `${service.url}/trains${QUERY}` });
    const digest = digestOf(TEXT);
    expect(checks[1]?.dataset).toMatchObject({ digest, of: 3, rows: 3 });
    await put();
    expect(await text((await store.open(digest)).stream)).toBe(TEXT);
    expect(service.requests.map(({ url }) => url)).toEqual([`/trains${QUERY}`]);
  });

  it('with other bytes than the digest beside it is refused, and no error shows the query', async () => {
    const service = await startService((_, response) => void response.end('<html>Sign in</html>'));
    const read_ = read({ url: `${service.url}/trains${QUERY}`, digest: digestOf(TEXT) });
    await expect(read_).rejects.toMatchObject({
      ...{ code: 'SLIPWAY_DATASET_CHANGED', place: `${service.url}/trains` },
      message: expect.not.stringContaining('sesame'),
    });
    expect(await store.listArtifacts()).toEqual([]);
  });

  it('is not fetched again if the store has the digest beside it, whatever the URL returns by now', async () => {
    await store.put(join(folder(), 'trains.jsonl'), digestOf(TEXT));
    const service = await startService((_, response) => void response.end('{}'));
    const dataset = { url: `${service.url}/trains`, digest: digestOf(TEXT) };
    expect(await datasetOf(dataset)).toMatchObject({ digest: digestOf(TEXT), of: 3 });
    expect(service.requests).toEqual([]);
  });

  it('with a wrong row is refused by its line, without the query', async () => {
    const service = await startService((_, response) => void response.end(`${TEXT}\n[]`));
    await expect(read({ url: `${service.url}/trains${QUERY}` })).rejects.toMatchObject({
      ...{ code: 'SLIPWAY_DATASET_INVALID', place: `${service.url}/trains:4` },
    });
  });

  it('that is larger than 50 MB is refused before the rest is read', async () => {
    let sent = 0;
    const megabyte = Buffer.alloc(1_000_000, 'x');
    const service = await startService((_, response) => {
      const more = (): void => {
        while (!response.destroyed && response.write(megabyte)) sent += 1;
      };
      response.on('drain', more);
      more();
    });
    await expect(read({ url: service.url })).rejects.toMatchObject({
      ...{ code: 'SLIPWAY_BAD_ANSWER' },
      message: expect.stringContaining('more than 50000000 bytes'),
    });
    expect(sent).toBeLessThan(100);
  });
});

describe('a dataset of the artifact store', () => {
  it('is read by its digest', async () => {
    await store.put(join(folder(), 'trains.jsonl'), digestOf(TEXT));
    expect(await datasetOf({ digest: digestOf(TEXT) })).toMatchObject({ digest: digestOf(TEXT), of: 3 });
  });

  it('that is gone or damaged is refused', async () => {
    const digest = digestOf(TEXT);
    await expect(read({ digest })).rejects.toMatchObject({ code: 'SLIPWAY_ARTIFACT_NOT_FOUND' });
    await store.put(join(folder(), 'trains.jsonl'), digest);
    await writeFile(join(folder(), 'store', artifactPath(digest)), `${TEXT}\n`);
    await expect(read({ digest })).rejects.toMatchObject({ code: 'SLIPWAY_ARTIFACT_CORRUPT' });
  });
});
