import { z } from 'zod';

import type { Check } from '../domain/check/check.ts';
import { type Dataset, DATASET_MAX, datasetProblem, percent } from '../domain/check/dataset.ts';
import { hasMaxLatency } from '../domain/check/expectation.ts';
import { SHARE, shareOf, Text, wholeNumber } from './fields.ts';
import { isLoopback } from './environment.ts';

/** The dataset of a check of the file. A release names it by its digest, which is known once it was read. */
export interface DeclaredDataset extends Omit<Dataset, 'digest' | 'of' | 'rows'> {
  readonly path?: string;
  readonly url?: string;
  /** Alone: what the artifact store has. Beside `path` or `url`: what those must have. */
  readonly digest?: string;
  /** How many rows are drawn. Absent: all are asked. */
  readonly sample?: number;
}

/** A check of the file: its dataset is not read yet. */
export interface DeclaredCheck extends Omit<Check, 'dataset'> {
  readonly dataset?: DeclaredDataset;
}

const ROWS_AT_ONCE = 4;

const DatasetUrl = Text.refine(
  isSafe,
  'expected an https URL without credentials; http is for this machine alone',
);

const DatasetOfCheck = z
  .strictObject({
    path: Text.optional().describe('A file of JSON Lines, relative to slipway.yaml'),
    url: DatasetUrl.optional().describe('Where such a file is fetched from, at each release'),
    digest: z
      .string()
      .regex(/^sha256:[0-9a-f]{64}$/, 'expected "sha256:" and 64 hexadecimal digits')
      .optional()
      .describe('The sha256 that it must have; alone, it names a dataset of the artifact store'),
    sample: wholeNumber(1, DATASET_MAX.asked)
      .optional()
      .describe('Of more rows, a sample of this many is drawn. Default: all are asked, 10,000 at most'),
    seed: wholeNumber(0, 2 ** 32 - 1)
      .default(0)
      .describe('The same seed draws the same rows. Default: 0'),
    concurrency: wholeNumber(1, DATASET_MAX.concurrency)
      .optional()
      .describe('How many rows are asked at once. Default: 4, or 1 if the check expects a maxLatency'),
  })
  .refine(({ path, url }) => path === undefined || url === undefined, {
    path: ['url'],
    message: 'expected a path or a url, and not both',
  })
  .refine(
    ({ path, url, digest }) => (path ?? url ?? digest) !== undefined,
    'expected a path, a url or a digest',
  );

const PassRate = z
  .string('expected a share such as 95%')
  .regex(SHARE, 'expected a share such as 95%')
  .transform((text) => shareOf(text) ?? 0)
  .refine((share) => share > 0 && share <= 1, 'expected more than 0% and at most 100%');

export const DATASET_FIELDS = {
  dataset: DatasetOfCheck.optional().describe(
    'Instead of input: a file of rows, each with an input of its own',
  ),
  passRate: PassRate.optional().describe(
    'The share of rows that the agent must be shown to pass, such as 95%. Default: all must pass',
  ),
  undecided: z
    .enum(['fail', 'pass'])
    .optional()
    .describe('Whether the check passes if the rows are not enough to tell. Default: fail'),
};

interface LooseCheck {
  readonly expect?: Check['expect'] | undefined;
  readonly dataset?: z.output<typeof DatasetOfCheck> | undefined;
  readonly passRate?: number | undefined;
  readonly undecided?: 'fail' | 'pass' | undefined;
}

/** A dataset with what the check says of its verdict; `undefined` if the check has none. */
export function declaredDataset({
  expect = {},
  dataset,
  passRate,
  undecided,
}: LooseCheck): DeclaredDataset | undefined {
  if (dataset === undefined) return undefined;
  return {
    ...dataset,
    concurrency: dataset.concurrency ?? (hasMaxLatency(expect) ? 1 : ROWS_AT_ONCE),
    passRate: passRate === 1 ? undefined : passRate,
    undecided: undecided === 'pass' ? undecided : undefined,
  };
}

export function* datasetFieldProblems(
  check: LooseCheck & { readonly [Field in 'input' | 'turns' | 'repeat' | 'pass']?: unknown },
): Generator<{ readonly field: string; readonly message: string }> {
  const { dataset, passRate, undecided } = check;
  if (dataset === undefined) {
    for (const field of ['passRate', 'undecided'] as const) {
      if (check[field] !== undefined) yield { field, message: 'has no effect without a dataset' };
    }
    return;
  }
  if (check.input !== undefined) yield { field: 'input', message: 'each row has its own: leave it out' };
  if (check.turns !== undefined) yield { field: 'turns', message: 'a row is one run: leave turns out' };
  for (const field of ['repeat', 'pass'] as const) {
    if (check[field] !== undefined) yield { field, message: 'each row is asked once: use passRate' };
  }
  if (undecided !== undefined && (passRate === undefined || passRate === 1)) {
    yield {
      field: 'undecided',
      message: `has no effect where all rows must pass (${percent(1)}): set passRate`,
    };
  }
  const declared = declaredDataset(check);
  const problem =
    declared?.sample === undefined ? undefined : datasetProblem({ ...declared, rows: declared.sample });
  if (problem !== undefined) yield { field: 'passRate', message: problem };
}

/** Checks as a release would carry them, before their datasets are read: with rows that any dataset may have. */
export function beforeReading(checks: readonly DeclaredCheck[]): readonly Check[] {
  return checks.map(({ dataset, ...check }) => {
    if (dataset === undefined) return check;
    const { path: _, url: _1, sample = DATASET_MAX.asked, ...rest } = dataset;
    return { ...check, dataset: { digest: NOT_READ, ...rest, rows: sample, of: sample } };
  });
}

const NOT_READ = `sha256:${'0'.repeat(64)}`;

function isSafe(text: string): boolean {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || url.username !== '' || url.password !== '') return false;
  return url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url.hostname));
}
