import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';

import { canonicalJson } from '@slipway/contract/json';
import { z } from 'zod';

import { FOR_PROBLEMS } from '../config/configProblem.ts';
import { Expectation } from '../config/expectationSchema.ts';
import { typeProblem } from '../config/fields.ts';
import type { Check } from '../domain/check/check.ts';
import { DATASET_MAX } from '../domain/check/dataset.ts';
import {
  type Expectation as ExpectationOfRun,
  referenceProblem,
  withReference,
} from '../domain/check/expectation.ts';
import { SlipwayError } from '../domain/errors.ts';
import type { WholeNumber } from '../domain/scalars.ts';
import { type JsonLine, jsonLines, lineProblem } from '../judge/jsonLines.ts';
import { randomFrom, sample } from '../judge/random.ts';

export interface DatasetRow {
  /** Its own id, or one made of its input: the same question has the same id in each version of the dataset. */
  readonly id: string;
  /** Its line, from 1. */
  readonly line: WholeNumber;
  readonly input: Readonly<Record<string, unknown>>;
  /** What its run must show, beside what the check expects. */
  readonly expect?: ExpectationOfRun;
  /** The right answer. */
  readonly reference?: unknown;
}

const ID_MAX_CHARACTERS = 200;
const ROW_MAX_BYTES = 1_000_000;

const Row = z.strictObject(
  {
    id: z.string().min(1).max(ID_MAX_CHARACTERS).optional(),
    input: z.record(z.string(), z.unknown(), 'expected an object'),
    expect: Expectation.optional(),
    reference: z.unknown().optional(),
    metadata: z.record(z.string(), z.unknown(), 'expected an object').optional(),
  },
  typeProblem('expected an object'),
);

/** What a row's rules are: whether the check itself compares with each row's reference. */
export type RowRules = Pick<Check, 'expect'>;

/** A line that is no row, and why. */
export interface WrongRow {
  readonly line: WholeNumber;
  readonly text: string;
  readonly problem: string;
}

/**
 * The rows of a dataset, one at a time: JSON Lines, UTF-8, without empty lines.
 * @param name - the dataset's name in errors.
 * @throws SLIPWAY_DATASET_INVALID with the line.
 */
export async function* datasetRows(
  stream: Readable,
  name: string,
  rules: RowRules,
): AsyncGenerator<DatasetRow, void> {
  for await (const row of readRows(stream, rules)) {
    if ('problem' in row) throw datasetInvalid(`${name}:${row.line}`, row.problem);
    yield row;
  }
}

/** The rows of a dataset as {@link datasetRows} reads them, with the lines that are none. */
export async function* readRows(
  stream: Readable,
  rules: RowRules,
): AsyncGenerator<DatasetRow | WrongRow, void> {
  const before: RowsBefore = { lineOf: new Map(), copiesOf: new Map() };
  for await (const read of jsonLines(stream)) {
    const row = rowOf(read, rules, before);
    yield typeof row === 'string' ? { line: read.line, text: read.text, problem: row } : row;
  }
}

interface RowsBefore {
  /** Their lines, by their ids. */
  readonly lineOf: Map<string, number>;
  /** How many have the same input and no id of their own, by the id of the first. */
  readonly copiesOf: Map<string, number>;
}

/** The row of a line; a text says why it is none. */
function rowOf(
  { line, text, value }: JsonLine,
  { expect }: RowRules,
  before: RowsBefore,
): DatasetRow | string {
  const { lineOf } = before;
  if (lineOf.size === DATASET_MAX.rows) return `it has more than ${DATASET_MAX.rows} rows`;
  if (Buffer.byteLength(text) > ROW_MAX_BYTES) return `the row is larger than ${ROW_MAX_BYTES} bytes`;
  const parsed = Row.safeParse(value, FOR_PROBLEMS);
  if (!parsed.success) return lineProblem(parsed.error, value);
  const { input, expect: ofRow, reference, id = idOf(input, before) } = parsed.data;
  const incomparable = referenceProblem(reference, [expect, ofRow ?? {}]);
  if (incomparable !== undefined) return incomparable;
  const other = lineOf.get(id);
  if (other !== undefined) return `line ${other} has the same id: ${JSON.stringify(id)}`;
  lineOf.set(id, line);
  return { id, line, input, expect: ofRow, reference };
}

/** The rows that a check asks: all of them, or the sample that its seed draws, in the order of the dataset. */
export async function chosenRows(
  rows: AsyncIterable<DatasetRow>,
  count: number,
  seed: number,
): Promise<readonly DatasetRow[]> {
  const drawn = await sample(rows, count, randomFrom(seed));
  return drawn.sort((one, other) => one.line - other.line);
}

/** The check that asks one row, with both expectations. The row's `status` replaces the check's, a run has only one. */
export function rowCheck(
  { dataset: _asked, ...check }: Check,
  { input, expect, reference }: Pick<DatasetRow, 'input' | 'expect' | 'reference'>,
): Check {
  const asked = { ...check, input, reference: reference ?? check.reference };
  if (expect === undefined) return { ...asked, expect: withReference(check.expect, reference) };
  const { status: ofCheck, ...checks } = withReference(check.expect, reference);
  const { status = ofCheck, ...rows } = withReference(expect, reference);
  return { ...asked, expect: { allOf: [checks, rows], ...(status === undefined ? {} : { status }) } };
}

/** The error if a dataset cannot be used. `place`: the dataset, with the line. */
export function datasetInvalid(place: string, what: string): SlipwayError {
  return new SlipwayError('SLIPWAY_DATASET_INVALID', `the dataset cannot be used: ${what}`, {
    place,
    hint: 'one JSON object per line: {"id": "…", "input": {…}, "reference": …, "expect": {…}}; docs/checks.md describes it',
  });
}

const ID_DIGITS = 12;

/** An id made of a row's input. Rows with the same input are numbered. */
function idOf(input: DatasetRow['input'], { copiesOf }: RowsBefore): string {
  const digits = createHash('sha256').update(canonicalJson(input)).digest('hex').slice(0, ID_DIGITS);
  const copies = (copiesOf.get(digits) ?? 0) + 1;
  copiesOf.set(digits, copies);
  return copies === 1 ? digits : `${digits}-${copies}`;
}
